r"""
From kink to kink
=================

The dual solution :math:`\alpha(\tau)` is piecewise linear. Each kink is an event: a point reaches
the margin, or a point on the margin reaches one of its bounds.
"""

import matplotlib.pyplot as plt
import numpy as np

import taupath as tp

rng = np.random.default_rng(1)
y = np.repeat([-1, 1], 12)
X = rng.standard_normal((24, 2)) + 0.7 * y[:, None]
path = tp.quantile_path(X, y, C=0.5)

taus = np.unique(np.concatenate((path.taus, np.linspace(0.0, 1.0, 400))))
alpha = np.array([path.alpha(tau) for tau in taus])
sizes = np.array([[len(part) for part in path.index_sets(tau)] for tau in taus])

figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
for i in (2, 7, 9, 14, 17, 20):
    color = "#c0392b" if y[i] > 0 else "#2c6fbb"
    axes[0].plot(taus, alpha[:, i], color=color, linewidth=1.3)
axes[0].plot(taus, 2 * (1 - taus) / len(y), color="#c0392b", linestyle=":", linewidth=1)
axes[0].plot(taus, 2 * taus / len(y), color="#2c6fbb", linestyle=":", linewidth=1)
axes[0].plot(path.taus, np.full(path.n_kinks, -0.003), "|", color="0.3", markersize=7)
axes[0].set(xlabel=r"$\tau$", ylabel=r"$\alpha_i$", title="six points; their bounds are dotted")
labels = ("L: in error (upper)", "M: on the margin (free)", "R: well classified (lower)")
axes[1].stackplot(taus, sizes.T, labels=labels, colors=("#d98880", "#34495e", "#d5dbdb"))
axes[1].set(xlabel=r"$\tau$", ylabel="points", title="the index sets", xlim=(0, 1), ylim=(0, 24))
axes[1].legend(loc="lower center", fontsize=8)
axes[0].spines[["top", "right"]].set_visible(False)

# %%
# The marks at the bottom are the kinks, including both ends of the path.

print(f"{len(y)} samples, {path.n_kinks} kinks")
