"""Reports of jobs: read, told as tables, plots, a page, or what other programs read."""
