"""The paper's tables, figures and statements again, from its data, beside its own numbers.

Yu, Vishwanathan and Zhang, The Entire Quantile Path of a Risk-Agnostic SVM Classifier, UAI 2009.
"""

from taupath.reproduce.targets import TARGETS, run

__all__ = ["TARGETS", "run"]
