r"""
Ties, and how they are broken
=============================

At τ = 0 only positive points cost anything. With a free intercept the best solution is w = 0 with
intercept 1, so every positive point lies on the margin at once: many events at the same τ. The
algorithm raises the targets to :math:`1 + \delta u_i` with small random :math:`u_i`, so that events
come one by one.
"""

import matplotlib.pyplot as plt
import numpy as np

import taupath as tp
from taupath.engine.tolerances import RAISE

rng = np.random.default_rng(0)
y = np.repeat([-1, 1], 150)
X = np.round(rng.standard_normal((300, 2)) + 0.6 * y[:, None])  # integers: full of ties
path = tp.quantile_path(X, y, C=0.3, intercept="free")
on_margin = np.abs(path.decision_function(X[y > 0], 0.0) - 1.0) < 1e-9
print(f"{on_margin.sum()} of {np.sum(y > 0)} positive points lie on the margin at τ = 0")
print(f"δ = {RAISE:g}; {path.n_kinks} kinks, {len(np.unique(path.taus))} of them different,")
print(f"{path.counters['zero_length_steps']} steps of length zero")

# %%
# Left: kinks come in bunches, some of them as close together as floating-point numbers can be.
# Right: what raising the targets costs, as the gap of the original problem. It stays below the
# promised 1e-9 at every kink.

steps = np.diff(path.taus)
gaps = [max(path.duality_gap(tau), 1e-17) for tau in path.taus]
figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
axes[0].semilogy(path.taus[1:], np.maximum(steps, 1e-17), ".", color="0.2", markersize=3)
axes[0].set(xlabel=r"$\tau$", ylabel="distance to the kink before (at least 1e-17)")
axes[1].semilogy(path.taus, gaps, ".", color="0.2", markersize=3)
axes[1].axhline(1e-9, color="#c0392b", linewidth=1)
axes[1].text(0.02, 1.3e-9, "promised", color="#c0392b", fontsize=9)
axes[1].set(xlabel=r"$\tau$", ylabel="relative duality gap", ylim=(1e-17, 1e-8))
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
