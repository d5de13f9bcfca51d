"""
Predictions that may only rise
==============================

Disease progression of diabetes patients: with constraints, no quantile falls as the body mass index
or the blood pressure rises, and blood serum values have no say unless they raise the prediction.
The coefficients are drawn without and with the constraints.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

import taupath as tp
from taupath.display import CoefficientDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X, y = (X - X.mean()) / X.std(), (y - y.mean()) / y.std()

rules = [tp.Monotone(["bmi", "bp"]), tp.NonNegative(["s1", "s2", "s3", "s4", "s5", "s6"])]
free = tp.QuantileSVR(C=1.0, intercept="augmented").fit(X, y)
constrained = tp.QuantileSVR(C=1.0, intercept="augmented", constraints=rules).fit(X, y)

_, axes = plt.subplots(1, 2, figsize=(12.0, 4.2), layout="constrained", sharey=True)
for ax, model, title in zip(axes, (free, constrained), ("free", "constrained"), strict=True):
    CoefficientDisplay.from_estimator(model, ax=ax)
    ax.set_title(title)
