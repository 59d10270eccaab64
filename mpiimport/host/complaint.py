"""The error that ends a host command: what was wrong, where, and what to do."""


class Complaint(Exception):
    """The message is one line for the person who ran the command."""
