"""How a snapshot is made and written, and the library in which it lies."""
