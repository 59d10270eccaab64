"""What a restored process executes before the program goes on. It imports built-in modules only."""
