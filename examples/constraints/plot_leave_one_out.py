"""
Every sample left out
=====================

How the decision about each sample changes if the SVM is trained without it, at τ = 0.5, and the
share of errors at every cost: among the training samples, and left out. Nothing is refitted.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import taupath as tp

data = load_breast_cancer()
X, y = scale(data.data), data.target
path = tp.quantile_path(X, y, C=1.0)

with_it, without_it = path.decision_function(X, 0.5), path.leave_one_out(0.5)
taus = np.linspace(0.02, 0.98, 49)
seen = [np.mean((path.decision_function(X, tau) >= 0.0) != (y == 1)) for tau in taus]

_, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.2), layout="constrained")
for label, color in ((1, "#0072B2"), (0, "#D55E00")):
    own = y == label
    left.plot(with_it[own], without_it[own], ".", color=color, label=data.target_names[label])
left.axhline(0.0, color="0.6", linewidth=0.8)
left.axvline(0.0, color="0.6", linewidth=0.8)
left.set(xlim=(-6, 6), ylim=(-6, 6), xlabel="decision with the sample", ylabel="without it")
left.legend(frameon=False)
right.plot(taus, seen, color="0.5", label="training samples")
right.plot(taus, path.loo_error(taus), color="black", label="left out")
right.set(xlabel=r"$\tau$", ylabel="share of errors", ylim=(0.0, None))
right.legend(frameon=False)
