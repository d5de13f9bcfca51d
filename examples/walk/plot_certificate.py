"""
The certificate
===============

The duality gap bounds how far a solution is from the optimum. It is computed from the data and the
solution alone, so it does not matter how the solution was found. Here it is shown along a path, and
for scikit-learn's ``LinearSVC`` at some τ.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import taupath as tp

X, y = load_breast_cancer(return_X_y=True)
X, y = StandardScaler().fit_transform(X), 1 - y  # 1 is malignant
C = 0.1
path = tp.quantile_path(X, y, C=C)
certificate = path.certify()
print(certificate)


# %%
# ``LinearSVC`` returns w only, so its gap cannot be computed. The difference between its objective
# and the optimum is a lower bound for it.


def objective(w, tau):
    """Return ½‖w‖² + Σ cost · hinge, with the intercept as the last of w."""
    sign = np.where(y == 1, 1.0, -1.0)
    hinge = np.maximum(0.0, 1.0 - sign * (X @ w[:-1] + w[-1]))
    return 0.5 * w @ w + np.sum(2.0 * C * np.where(y == 1, 1.0 - tau, tau) * hinge)


taus = np.linspace(0.05, 0.95, 19)
others = []
for tau in taus:
    svm = LinearSVC(C=2.0 * C, loss="hinge", class_weight={0: tau, 1: 1.0 - tau}, random_state=0,
                    max_iter=20_000).fit(X, y)  # fmt: skip
    theirs = objective(np.append(svm.coef_, svm.intercept_), tau)
    best = objective(np.append(path.coef(tau), path.intercept(tau)), tau)
    others.append((theirs - best) / best)

points = path.taus[:: max(path.n_kinks // 400, 1)]
gaps = [max(path.duality_gap(tau), 1e-17) for tau in points]
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.semilogy(taus, others, "s", color="#2c6fbb", markersize=5, label="LinearSVC, one fit each")
ax.semilogy(points, gaps, ".", color="black", markersize=3, label="kinks of the path")
ax.axhline(1e-9, color="#c0392b", linewidth=1, label="promised")
ax.set(xlabel=r"$\tau$", ylabel="relative gap", ylim=(1e-17, 1e-1))
ax.legend(frameon=False, fontsize=9)
ax.spines[["top", "right"]].set_visible(False)
