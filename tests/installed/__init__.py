"""Tests that need an installed prefix or other Pythons, but no MPI."""
