"""Counting on a Dask cluster (the extra `dask`)."""
