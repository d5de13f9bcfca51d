"""
What drives low and high quantiles?
===================================

Coefficients of linear quantile regression for every quantile, on scikit-learn's diabetes data,
where y measures how the disease has progressed. A feature whose line falls to the right matters
more for patients who do well than for patients who do badly.
"""

from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from taupath.display import CoefficientDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = make_pipeline(StandardScaler(), tp.QuantileSVR(C=1.0)).fit(X, y)
CoefficientDisplay.from_estimator(model)
