"""The canonical problem and the walk along its solutions.

Knows rows z_i of any matrix, boxes and targets that are affine in t. Must not know what C, τ,
labels or kernels are.
"""
