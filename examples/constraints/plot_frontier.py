"""
Cost against fairness, cost against features
============================================

One path has the exact solution for every bound on the covariance of a group and the decision, or
for every weight of an L1 penalty. What its decisions about held-out cases cost is a step function,
and all steps are drawn.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import taupath as tp
from taupath.display import FrontierDisplay

data = load_breast_cancer()
group = data.data[:, 0] > 15.0  # large nuclei
X, X_test, y, y_test, group, group_test = train_test_split(
    scale(data.data), data.target, group, test_size=0.5, random_state=0
)

path = tp.fairness_path(X, y, group, tau=0.5, C=0.1)
FrontierDisplay.from_path(path, X_test, y_test, group=group_test)

# %%
# The same for the number of features.
path = tp.sparsity_path(X, y, tau=0.5, C=0.1)
FrontierDisplay.from_path(path, X_test, y_test)
