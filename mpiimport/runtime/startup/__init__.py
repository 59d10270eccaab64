"""From a command line to a served program, and that program to its end."""
