"""A path of solutions: a job and its solutions on training data, with its certificate.

Knows X, y, kernels and what C and τ mean. Must not know how approximate solutions are found.
"""
