"""
Which features enter when
=========================

With an L1 penalty weights are exactly zero for most features. Each bar is a range in which a
feature has a weight: first over the weight of the penalty at one τ, then over τ with one penalty.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import taupath as tp
from taupath.display import FeatureEntryDisplay

data = load_breast_cancer()
X, y = scale(data.data), data.target

path = tp.sparsity_path(X, y, tau=0.5, C=1.0)
FeatureEntryDisplay.from_path(path, feature_names=data.feature_names)

# %%
# What matters depends on what mistakes cost: at τ = 0.05, a missed benign case is 19 times as bad
# as a missed cancer.
path = tp.quantile_path(X, y, C=1.0, l1=10.0)
FeatureEntryDisplay.from_path(path, feature_names=data.feature_names)
print([path.n_nonzero(tau) for tau in (0.05, 0.5, 0.95)])
