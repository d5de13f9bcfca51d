"""The canonical problem and the walk along its solutions.

Knows rows z_i, boxes and targets that are affine in t. Must not know of X, y, C, τ or kernels.
"""
