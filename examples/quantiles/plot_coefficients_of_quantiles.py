"""
What moves the low, and what the high quantiles?
================================================

Coefficients of linear quantile regression along the quantile, for scikit-learn's diabetes data. A
feature whose line falls matters more for those who do well than for those who do badly.
"""

from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from taupath.display import CoefficientDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = make_pipeline(StandardScaler(), tp.QuantileSVR(C=1.0)).fit(X, y)
CoefficientDisplay.from_estimator(model)
