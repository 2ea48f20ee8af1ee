"""The store of reports and the journal in tables: the part that every database shares."""
