"""What decisions lead to on labelled samples: rates, costs and held-out predictions.

Knows estimators. Must not know of files or drawings: displays, reports and commands read it.
"""
