"""
Boundaries for every cost
=========================

One path holds the SVM for every τ = cost_fp / (cost_fp + cost_fn). If a miss is expensive, τ is
small and nearly everything is called positive. If a false alarm is expensive, τ is large and hardly
anything is. This is the paper's Figure 1 with other data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import taupath as tp
from taupath.display import BoundaryDisplay

rng = np.random.default_rng(3)
y = np.repeat(["negative", "positive"], 70)
X = rng.standard_normal((140, 2)) + np.where(y == "positive", 1.1, -1.1)[:, None] * [1.0, 0.4]
model = tp.QuantileSVC(C=1.0).fit(X, y)

figure, axes = plt.subplots(1, 3, figsize=(9.0, 3.4), sharey=True, layout="constrained")
for ax, tau in zip(axes, (0.05, 0.5, 0.95), strict=True):
    BoundaryDisplay.from_estimator(model, X, y, taus=tau, ax=ax, labels=False, legend=tau == 0.05)
    ax.set_title(rf"$\tau$ = {tau:g}", fontsize=11)
    ax.label_outer()

# %%
# With a kernel the boundaries are curves. All of them come from one fit; they differ only in τ.

X, y = make_moons(300, noise=0.3, random_state=0)
model = tp.QuantileSVC(C=1.0, kernel="rbf", gamma=1.0).fit(X, y)
BoundaryDisplay.from_estimator(model, X, y)
print(f"{model.path_.n_kinks} kinks")
