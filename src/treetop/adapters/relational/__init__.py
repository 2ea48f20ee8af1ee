"""The store of reports and the journal in tables: what is said to a database, whichever it is."""
