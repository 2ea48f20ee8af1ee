"""Hashed names: short salted hashes are searched, and their texts read back."""
