"""Certified approximate paths of rows that stay on a Dask cluster.

Knows how partitions answer requests and add up. Must not know of estimators. `entry`,
`requests` and `solutions` import no Dask.
"""
