"""Displays in scikit-learn's form: arrays are computed and kept first, and drawn by `plot`.

They need matplotlib: ``pip install matplotlib``.
"""

from taupath.display.boundary import BoundaryDisplay
from taupath.display.coefficients import CoefficientDisplay
from taupath.display.decision_curve import DecisionCurveDisplay
from taupath.display.fan import QuantileFanDisplay
from taupath.display.feature_entry import FeatureEntryDisplay
from taupath.display.frontier import FrontierDisplay
from taupath.display.performance import PerformanceDisplay
from taupath.display.reliability import ReliabilityDisplay
from taupath.display.roc import RocDisplay

__all__ = [
    "BoundaryDisplay",
    "CoefficientDisplay",
    "DecisionCurveDisplay",
    "FeatureEntryDisplay",
    "FrontierDisplay",
    "PerformanceDisplay",
    "QuantileFanDisplay",
    "ReliabilityDisplay",
    "RocDisplay",
]
