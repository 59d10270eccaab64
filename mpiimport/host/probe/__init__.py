"""What runs in a job's own Python, of any version, and says what it finds."""
