"""What tests are fed with: lists of packages and programs that import them, and machines as data."""
