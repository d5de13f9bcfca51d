"""
Decision curves: is the model worth acting on?
==============================================

Net benefit at τ is the share of cases that are positive and found, minus the share of false alarms
times τ / (1 − τ), their cost in units of a positive case found (Vickers & Elkin 2006). A model is
useful where its curve is above both "treat all" and "treat none".
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import taupath as tp
from taupath.display import DecisionCurveDisplay

rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 5))
log_odds = X @ [1.5, -1.0, 0.7, 0.0, 0.0] - 1.0
y = (rng.uniform(size=3000) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# The data are simulated from a logistic model, so logistic regression is hard to beat here. The
# path assumes no such shape. Its curve drops to zero where the linear SVM for a large τ calls every
# case negative; see :doc:`/threshold`.

display = DecisionCurveDisplay.from_estimator(tp.QuantileSVC().fit(X, y), X_test, y_test)
logistic = LogisticRegression().fit(X, y)
DecisionCurveDisplay.from_estimator(logistic, X_test, y_test, ax=display.ax_, linewidth=1.2)
