"""What a run measured, brought together and written."""
