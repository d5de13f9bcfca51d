"""scikit-learn estimators: fit, predict, decisions for given costs, the choice of C.

Knows fitting and paths. Must not know of files, tables or drawings.
"""
