"""A program's text: its statements, and how far its begin may go by them. Nothing of it is executed."""
