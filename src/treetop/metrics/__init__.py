"""How good an answer is and what it cost."""
