"""From tables to what the solver takes: features as numbers, labels as codes, and back."""

from taupath.preparation.preparation import Preparation

__all__ = ["Preparation"]
