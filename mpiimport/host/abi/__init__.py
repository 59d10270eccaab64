"""What fits what: shared libraries and their loader, PMI, ranks of a trial."""
