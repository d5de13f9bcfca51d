"""
Rates along τ
=============

True positive rate, true negative rate and accuracy of a whole path, on data that it was not trained
on. A positive is a malignant case. The rates are step functions of τ, and every step is drawn.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from taupath.display import PerformanceDisplay

data = load_breast_cancer(as_frame=True)
diagnosis = data.target.map({0: "malignant", 1: "benign"})
X, X_test, y, y_test = train_test_split(data.data, diagnosis, test_size=0.5, random_state=0)
svm = tp.QuantileSVC(C=0.01, pos_label="malignant")
model = make_pipeline(StandardScaler(), svm).fit(X, y)
PerformanceDisplay.from_estimator(model, X_test, y_test)
