"""
Coefficients along τ
====================

With the linear kernel the weights of the features are piecewise linear in τ. All kinks are drawn.
Where two lines cross, the more important feature of a cautious decision is the less important one
of a bold decision.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from taupath.display import CoefficientDisplay

data = load_breast_cancer(as_frame=True)
model = make_pipeline(StandardScaler(), tp.QuantileSVC(C=0.1)).fit(data.data, 1 - data.target)
CoefficientDisplay.from_estimator(model)
