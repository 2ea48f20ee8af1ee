"""Items as bits."""
