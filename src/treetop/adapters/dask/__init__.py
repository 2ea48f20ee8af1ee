"""Counting on a Dask cluster (`treetop[dask]`)."""
