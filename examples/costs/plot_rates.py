"""
Rates along τ
=============

True positive rate, true negative rate and accuracy of a whole path on data that it was not trained
on. They are step functions, and every step is there: nothing is sampled.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from taupath.display import PerformanceDisplay

data = load_breast_cancer(as_frame=True)
X, X_test, y, y_test = train_test_split(
    data.data, 1 - data.target, test_size=0.5, random_state=0
)  # malignant is positive
model = make_pipeline(StandardScaler(), tp.QuantileSVC(C=0.01)).fit(X, y)
PerformanceDisplay.from_estimator(model, X_test, y_test)
