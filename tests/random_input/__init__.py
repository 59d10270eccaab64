"""What the launch side makes of random input, as seen by readers that are not ours."""
