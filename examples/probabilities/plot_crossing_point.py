r"""
A probability is where the decision changes
===========================================

The SVM for τ calls a case positive if it takes P(Y = 1 | x) to be at least τ. Follow one case along
the path: its decision function :math:`f_\tau(x)` starts above zero and ends below. The τ where it
crosses zero is the estimated probability P̂.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import taupath as tp

X, y = make_moons(300, noise=0.3, random_state=0)
model = tp.QuantileSVC(C=1.0, kernel="rbf", gamma=1.0).fit(X, y)
new = np.array([[-0.5, 0.2], [0.2, 0.65], [0.9, -0.1], [1.6, 0.0]])
proba = model.predict_proba(new)[:, 1]
taus, values = model.path_.values_at_nodes(new)

figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.8), layout="constrained")
axes[0].scatter(*X.T, c=np.where(y == 1, "#c0392b", "#2c6fbb"), s=9, alpha=0.35, linewidth=0)
for k, (x, p) in enumerate(zip(new, proba, strict=True)):
    axes[0].plot(*x, "o", color=f"C{k}", markeredgecolor="black", markersize=9)
    axes[1].plot(taus, values[k], color=f"C{k}", linewidth=1.5)
    axes[1].plot(p, 0.0, "o", color=f"C{k}", markeredgecolor="black", label=f"P̂ = {p:.3f}")
axes[1].axhline(0.0, color="0.6", linewidth=0.8)
axes[0].set(xlabel="feature 0", ylabel="feature 1", title="four new cases")
axes[1].set(xlabel=r"$\tau$", ylabel=r"$f_\tau(x)$", title="along the path")
axes[1].legend(frameon=False)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)

# %%
# Boundaries for different τ may cross, and then a case changes sides more than once. P̂ is then the
# total length of all τ at which it is called positive, and ``crossing_interval`` gives the
# first and the last change. How often does that happen on real data?

data = load_breast_cancer()
malignant = (data.target == 0).astype(int)
X, X_test, y, y_test = train_test_split(data.data, malignant, test_size=0.5, random_state=0)
scaler = StandardScaler().fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)
model = tp.QuantileSVC(C=0.1).fit(X, y)
low, high = model.crossing_interval(X_test).T
print(f"{np.sum(high - low > 1e-9)} of {len(X_test)} cases change sides more than once")

i = int((high - low).argmax())
taus, values = model.path_.values_at_nodes(X_test[i : i + 1])
p = model.predict_proba(X_test)[i, 1]
figure, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
ax.axhline(0.0, color="0.6", linewidth=0.8)
ax.axvspan(low[i], high[i], color="#f6e3d0", label=f"interval [{low[i]:.3f}, {high[i]:.3f}]")
ax.plot(taus, values[0], color="black", linewidth=1.2)
ax.plot(p, 0.0, "o", color="C3", label=f"P̂ = {p:.3f}, total length of f ≥ 0")
ax.set(xlabel=r"$\tau$", ylabel=r"$f_\tau(x)$", title="the case with the widest interval")
ax.legend(framealpha=0.9, edgecolor="none", loc="lower left")
ax.spines[["top", "right"]].set_visible(False)
