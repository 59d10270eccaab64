"""Random programs that run served as they run plainly; ``python -m tests.random_programs SEED`` runs one by hand."""
