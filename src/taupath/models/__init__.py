"""A trained model of raw columns: training, prediction and evaluation on tables.

Knows tables, preparation, estimators and outcomes. Must not know of the command line.
"""
