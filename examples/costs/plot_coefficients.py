"""
Coefficients along τ
====================

With the linear kernel the weights of the features are piecewise linear in τ, and every kink is
drawn. Features that matter most when a missed cancer is expensive (small τ) need not be those that
matter most when a false alarm is (large τ).
"""

from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from taupath.display import CoefficientDisplay

data = load_breast_cancer(as_frame=True)
diagnosis = data.target.map({0: "malignant", 1: "benign"})
svm = tp.QuantileSVC(C=0.1, pos_label="malignant")
model = make_pipeline(StandardScaler(), svm).fit(data.data, diagnosis)
CoefficientDisplay.from_estimator(model)
