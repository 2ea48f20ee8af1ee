"""What is promised."""
