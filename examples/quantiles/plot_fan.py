"""
A fan of quantiles
==================

:class:`taupath.QuantileSVR` fits kernel quantile regression for all quantiles at once. You can ask
for any of them afterwards, and they never cross.
"""

import numpy as np

import taupath as tp
from taupath.display import QuantileFanDisplay

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.0, 10.0, 400))
y = np.sin(x) + 0.25 * x + (0.1 + 0.12 * x) * rng.standard_normal(400)
model = tp.QuantileSVR(C=10.0, kernel="rbf", gamma=0.3).fit(x[:, None], y)
QuantileFanDisplay.from_estimator(model, x[:, None], y)

# %%
# There are also intervals, the whole distribution function, and random draws from it.

new = np.array([[2.0], [8.0]])
print("interval:", model.predict_interval(new, coverage=0.8).round(2).tolist())
print("P(y ≤ 1):", model.cdf(new, 1.0).round(3).tolist())
print("draws:   ", model.sample(new, 3, random_state=0).round(2).tolist())
