"""
Reliability
===========

Of all cases that get a probability of 0.3, three in ten should be positive. The bars are 95 %
intervals for each share; the histogram shows how many cases are in each bin.
"""

import numpy as np
from sklearn.model_selection import train_test_split

import taupath as tp
from taupath.display import ReliabilityDisplay

rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 5))
log_odds = X @ [1.5, -1.0, 0.7, 0.0, 0.0] - 1.0
y = (rng.uniform(size=3000) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

model = tp.QuantileSVC(C=0.1).fit(X, y)
ReliabilityDisplay.from_estimator(model, X_test, y_test)

# %%
# The data are simulated, so the true probabilities are known, and so is the distance to them.

proba = model.predict_proba(X_test)[:, 1]
truth = 1.0 / (1.0 + np.exp(1.0 - X_test @ [1.5, -1.0, 0.7, 0.0, 0.0]))
print(f"mean |P̂ − P| = {np.abs(proba - truth).mean():.3f}, largest P̂ = {proba.max():.3f}")

# %%
# The largest probabilities are too small: beyond the largest P̂ the linear SVM calls every case
# negative. See :doc:`/trust` for when to calibrate.
