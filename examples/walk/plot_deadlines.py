r"""
Deadlines: which rows need a look
=================================

A point with slack g cannot reach the margin before w has moved by :math:`|g| / \|z\|`. That length
is its deadline. Until then the point is left alone, so each kink takes a look at a few rows, not at
all n.
"""

import matplotlib.pyplot as plt
import numpy as np

import taupath as tp

sizes = (250, 500, 1000, 2000, 4000, 8000)
looked_at = []
for n in sizes:
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], n)
    X = rng.standard_normal((n, 10)) + 0.4 * y[:, None]
    counters = tp.quantile_path(X, y, lam=10.0 / n).counters
    looked_at.append(counters["rows_evaluated"] / counters["kinks"])

figure, ax = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
ax.loglog(sizes, sizes, ":", color="0.5", label="all rows")
ax.loglog(sizes, looked_at, "o-", color="#c0392b", label="rows looked at")
ax.set(xlabel="samples", ylabel="rows per kink")
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.set_xticks([], minor=True)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
for n, rows in zip(sizes, looked_at, strict=True):
    print(f"{n:5d} samples: {rows:5.1f} rows per kink")

# %%
# The deadlines of one point: its slack along the path, and a lower bound for the slack after w has
# travelled so far. The bound reaches zero no later than the slack does. Then the point is looked at
# and gets a new deadline.

rng = np.random.default_rng(5)
y = np.repeat([-1, 1], 60)
X = rng.standard_normal((120, 2)) + 0.9 * y[:, None]
path = tp.quantile_path(X, y, C=1.0)
taus = np.linspace(0.05, 0.95, 600)
w = np.array([[*path.coef(tau), path.intercept(tau)] for tau in taus])
z = y[:, None] * np.column_stack((X, np.ones(len(y))))
slack = w @ z.T - 1.0
moved = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(w, axis=0), axis=1))))

# a point that stays clear of the margin for long, then meets it
meets = np.argmax(slack < 0.0, axis=0)
i = int(np.argmax(np.where((slack[0] > 0.0) & (meets > 0), meets, 0)))
end = meets[i] + 1
figure, ax = plt.subplots(figsize=(6.2, 3.8), layout="constrained")
ax.axhline(0.0, color="0.6", linewidth=0.8)
ax.plot(moved[:end], slack[:end, i], color="black", label="slack of the point")
start, length, looks = 0, np.linalg.norm(z[i]), 0
while start < end - 1:
    bound = slack[start, i] - length * (moved - moved[start])
    due = max(int(np.searchsorted(-bound, 0.0)), start + 1)
    due = min(due, end - 1)
    ax.plot(moved[start : due + 1], np.maximum(bound[start : due + 1], 0.0), color="#c0392b",
            linewidth=1, label=None if looks else "lower bound")  # fmt: skip
    start, looks = due, looks + 1
ax.set(xlabel="length that w has travelled", ylabel=r"slack $\langle z, w\rangle - 1$")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
print(f"looked at {looks} times in {np.searchsorted(path.taus, taus[end - 1])} kinks")
