"""
The ROC curve of a path
=======================

The usual ROC curve moves a threshold along the scores of one classifier. Here every point is a
classifier of its own, trained for its τ. If you give costs, the cheapest point is marked; all
points on the dashed line would cost the same.
"""

import numpy as np
from sklearn.model_selection import train_test_split

import taupath as tp
from taupath.display import RocDisplay

rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 5))
log_odds = X @ [1.5, -1.0, 0.7, 0.0, 0.0] - 1.0
y = (rng.uniform(size=3000) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

model = tp.QuantileSVC(C=0.1).fit(X, y)
display = RocDisplay.from_estimator(model, X_test, y_test, cost_fp=1.0, cost_fn=4.0)

# %%
# The marked point was found with hindsight, on the test half. Without hindsight, the costs say
# which τ to use: 1 / (1 + 4) = 0.2. Here is what both cost on the test half:

predicted = model.predict(X_test, cost_fp=1.0, cost_fn=4.0)
alarms, misses = np.sum(predicted > y_test), np.sum(predicted < y_test)
print(f"in hindsight: {display.expected_cost[display.best]:.3f} per case")
print(f"τ = 0.2:      {(alarms + 4.0 * misses) / len(y_test):.3f} per case")
