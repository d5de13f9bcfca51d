"""
Choosing C for one τ, or for all
================================

:class:`taupath.QuantileSVCCV` follows one path for each C and fold. Each path gives the held-out
loss at every τ at once, so the best C for any cost is known without further fits. The final model
uses the C with the smallest loss averaged over all τ. That average is the Brier score.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import taupath as tp

X, y = load_breast_cancer(return_X_y=True)
X, y = StandardScaler().fit_transform(X), 1 - y  # 1 is malignant
search = tp.QuantileSVCCV(np.logspace(-4, 1, 6), kernel="linear", combine="best", cv=4).fit(X, y)

taus = np.linspace(0.01, 0.99, 197)
losses = search.loss(taus)
figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
shades = plt.get_cmap("viridis")(np.linspace(0.05, 0.9, len(search.Cs_)))
for C, row, color in zip(search.Cs_, losses, shades, strict=True):
    axes[0].plot(taus, row, color=color, linewidth=1.4, label=f"C = {C:g}")
axes[0].plot(taus, losses.min(axis=0), color="black", linewidth=0.9, linestyle=":", label="best")
axes[0].set(xlabel=r"$\tau$", ylabel="held-out loss", ylim=(0, 0.12))
axes[0].legend(frameon=False, fontsize=8, ncols=2)

brier = search.brier_.mean(axis=1)
axes[1].semilogx(search.Cs_, brier, "o-", color="0.2")
axes[1].axvline(search.C_, color="tab:red", linewidth=1)
axes[1].set(xlabel="C", ylabel="Brier score = mean of the loss over τ")
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)

# %%
# One C for all τ is usually good enough. Here is the mean loss over τ with the chosen C, and with
# the best C for each τ.

chosen = losses[list(search.Cs_).index(search.C_)]
print(f"chosen C = {search.C_:g}")
print(f"mean loss {chosen.mean():.4f}; with the best C for each τ {losses.min(axis=0).mean():.4f}")
