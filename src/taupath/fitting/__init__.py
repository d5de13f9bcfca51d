"""The functions that users call to get a path.

Checks their arguments, makes a problem of X, y and C, and chooses how to solve it. Must not know
of estimators.
"""
