"""Reports of jobs: read, shown as tables, plots, a page, or what other programs read."""
