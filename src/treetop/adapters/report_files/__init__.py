"""Reports in Parquet files: written in a stream, checked before they are counted."""
