"""The paper's tables, figures and statements, computed again from its data.

Knows the whole library. Only the command ``taupath reproduce`` imports it.

Yu, Vishwanathan and Zhang, The Entire Quantile Path of a Risk-Agnostic SVM Classifier, UAI 2009.
"""

from taupath.reproduce.targets import run

__all__ = ["run"]
