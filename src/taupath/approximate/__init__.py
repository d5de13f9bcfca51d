"""Certified approximate paths: solutions at nodes, interpolation and a bound on gaps between.

Knows paths and how to solve at one τ. Must not know of estimators, files or clusters.
"""
