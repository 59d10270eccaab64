"""How docs/benchmarks.md is made of what was recorded: tables, plots, the model."""
