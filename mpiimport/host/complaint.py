"""The error that ends a command of ours: what was wrong, where, and what to do."""


class Complaint(Exception):
    """The message is one line for the person who ran the command."""
