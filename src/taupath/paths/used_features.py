"""Where along a path the weights of features are other than zero."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from taupath.paths.extra_rows import ExtendedData
from taupath.paths.solutions import Solutions
from taupath.paths.training_data import TrainingData
from taupath.paths.walked import Walked

# Kinks closer than this, as a part of the whole range, are taken for one: raised targets keep them
# apart.
ONE_KINK = 1e-9
# At kinks, weights up to this part of the largest one may be zero, however large the features.
MAY_BE_ZERO = 1e-9
# Raised targets move weights at kinks by about what shows in typical margins, and by more where the
# samples on the margin are small. Nothing is lost with a level that is too high or too low: between
# the kinks at which a weight crosses one of these, it is read.
LEVELS = (1.0, 10.0, 100.0)


class UsedFeatures:
    """Methods of `SolutionPath` for paths with extra rows, whose weights can be exactly zero."""

    solutions: Solutions

    def coefficients_at_nodes(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield nodes and the feature weights there, see `SolutionPath`."""
        raise NotImplementedError

    def nonzero_ranges(self) -> list[np.ndarray]:
        """Return for each feature where along the path its weight is not zero.

        For paths with `l1` or constraints: it says when each feature enters and when it leaves.
        Ranges shorter than a billionth of the path are left out.

        Returns
        -------
        list of n_features ndarrays of shape (n_ranges, 2)
            Where each range begins and ends; none for a feature that is never used.
        """
        walked = self.solutions
        if not isinstance(walked, Walked) or walked.data.extra is None:
            raise ValueError("nonzero_ranges is for paths with l1 or constraints")
        begin, end = walked.range
        # a weight leaves or becomes zero at a kink of its row, or, if all weights rested since
        # then, at a later one
        edges = np.union1d(walked.extra_kinks, self._where_weights_leave_zero(walked.data.distinct))
        apart = np.diff(edges, prepend=begin) > ONE_KINK * (end - begin)
        edges = np.concatenate(([begin], edges[apart & (edges < end)], [end]))
        used = np.array(
            [
                walked.data.coef(walked.function(0.5 * (first + last))) != 0.0
                for first, last in pairwise(edges)
            ]
        )
        return [_ranges(edges, column) for column in used.T]

    def _where_weights_leave_zero(self, data: TrainingData) -> np.ndarray:
        """Return the nodes next to which some weight may begin or cease to be zero."""
        found = list(self.coefficients_at_nodes())
        nodes, coef = (np.concatenate(each) for each in zip(*found, strict=True))
        assert isinstance(data, ExtendedData)
        moved = data.moved_if_raised[: coef.shape[1]]
        size = np.abs(coef)
        least = np.maximum(moved, MAY_BE_ZERO * size.max(initial=0.0))
        changes = np.zeros(max(len(nodes) - 1, 0), dtype=bool)
        for level in LEVELS:
            zero = size <= level * least
            changes |= (zero[1:] != zero[:-1]).any(axis=1)
        return np.asarray(nodes[np.append(changes, False) | np.append(False, changes)])


def _ranges(edges: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return the ranges of neighbouring intervals that are `inside`."""
    steps = np.diff(np.concatenate(([0], inside.astype(np.int8), [0])))
    return np.column_stack((edges[np.flatnonzero(steps > 0)], edges[np.flatnonzero(steps < 0)]))
