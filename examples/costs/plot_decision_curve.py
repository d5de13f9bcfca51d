"""
Decision curves: is the model worth acting on?
==============================================

Net benefit at a threshold τ counts the positive cases found, less the false alarms weighed by
τ / (1 − τ): what they cost in units of a positive case (Vickers & Elkin 2006). A model is of use
where it is above both "treat all" and "treat none".
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
# The data follow a logistic model, so logistic regression has the right shape here and is hard to
# beat. The path was given no shape. Its curve drops to zero where the linear SVM of a large τ takes
# every sample for negative.

display = DecisionCurveDisplay.from_estimator(tp.QuantileSVC().fit(X, y), X_test, y_test)
logistic = LogisticRegression().fit(X, y)
DecisionCurveDisplay.from_estimator(logistic, X_test, y_test, ax=display.ax_, linewidth=1.2)
