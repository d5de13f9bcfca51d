"""
The path over C
===============

The same algorithm with another parameter: C grows from zero to C_max (Hastie, Rosset, Tibshirani &
Zhu 2004). The best C is chosen after training, on data that were held out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import taupath as tp

X, y = make_moons(400, noise=0.35, random_state=0)
path = tp.regularization_path(X[:200], y[:200], C_max=100.0, kernel="rbf", gamma=1.0)
Cs = np.geomspace(1e-2, 100.0, 150)
wrong = ((path.decision_function(X[200:], Cs) >= 0.0) != (y[200:, None] == 1)).mean(axis=0)

figure, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
ax.semilogx(Cs, wrong, color="black", drawstyle="steps-mid", linewidth=1.2)
ax.plot(path.Cs[path.Cs > 1e-2], np.full((path.Cs > 1e-2).sum(), wrong.min() - 0.01), "|",
        color="0.5", markersize=6)  # fmt: skip
ax.set(xlabel="C (marks: kinks)", ylabel="error rate on held-out data")
ax.spines[["top", "right"]].set_visible(False)
print(f"{path.n_kinks} kinks; fewest errors at C = {Cs[wrong.argmin()]:.2g}")
