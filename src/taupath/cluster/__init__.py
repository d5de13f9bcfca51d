"""Certified approximate paths of rows that stay on a Dask cluster.

Knows how partitions answer requests and add up. Must not know of estimators. Only `entry` and
`solutions` can be imported without Dask.
"""
