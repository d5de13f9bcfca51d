"""The free points of one problem, and the equations between them, in extended precision."""

import numpy as np

from taupath._core._extended import ExtendedFactor
from taupath._core._rows import Rows

EXTENDED = np.longdouble
# With more columns than this, only products of rows are factored, not rows.
MOST_COLUMNS_OF_VECTORS = 1024
# A row closer than this part of its length to the span of others depends on them: what is left is
# rounding.
DEPENDENT = 1e-17
# A row that is so many times as long as another is no good to be subtracted from it.
MUCH_LONGER = 100.0


class FreeSet:
    """Members whose rows are independent, and a factor of these rows that changes with them.

    If Σ sign_i θ_i = 0 is asked for, the first member takes what keeps the balance. The others
    count with the rows z_i - sign_i sign_first z_first, which have no part in the intercept.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.length = np.sqrt(np.maximum(rows.squared_norms(), 0.0))
        self.sign = rows.signs.astype(EXTENDED)
        self.by_vectors = not rows.dual and rows.n_cols <= MOST_COLUMNS_OF_VECTORS
        columns = rows.n_cols - 1 if rows.balanced else rows.n_cols
        self._factor = ExtendedFactor(columns if self.by_vectors else 0)
        self._n_first = int(rows.balanced)
        self._members: list[int] = []
        self._looked_at: int | None = None  # the point whose row the factor has looked at

    def __len__(self) -> int:
        return len(self._members)

    @property
    def members(self) -> np.ndarray:
        """The members, in the order of the factor."""
        return np.array(self._members, dtype=np.int32)

    def become(self, members: np.ndarray) -> None:
        """Have these members, but for those that depend on others."""
        wanted = set(members.tolist())
        gone = [k for k in self._members if k not in wanted]
        if 2 * len(gone) > len(self):
            self._rebuild([])
        else:
            self.drop(gone)
        there = set(self._members)
        new = [k for k in members.tolist() if k not in there]
        for k in sorted(new, key=self.length.__getitem__):
            self.add(k)

    def drop(self, points: list[int]) -> None:
        """Remove members."""
        for k in points:
            at = self._members.index(k)
            if at < self._n_first:
                self._replace_first()
            else:
                self._factor.remove(at - self._n_first)
                del self._members[at]

    def add(self, k: int) -> bool:
        """Add a point, unless it depends on the members."""
        if len(self) < self._n_first:
            self._members.append(k)
            return True
        if self._n_first and self.length[self._members[0]] > MUCH_LONGER * self.length[k]:
            self._rebuild([k, *self._members])
            return k in self._members
        self._look_at(k)
        if not self._factor.distance > DEPENDENT * self._scale(k):
            return False
        self._factor.append()
        self._members.append(k)
        self._looked_at = None
        return True

    def towards(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a direction in which θ_k grows by 1 and the slacks of the members stay.

        Namely the changes of the members' θ and of θ_k, and that of w.
        """
        self._look_at(k)
        x = self._whole(np.append(-self._factor.parts(), EXTENDED(1.0)), k)
        return x, self._image(
            x, np.append(self.members, np.int32(k)), self._factor.rest_of_column()
        )

    def descent(self, slack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return changes of the members' θ and of w that bring these slacks of theirs to zero."""
        if self._n_first:
            slack = slack[1:] - self._ratio(self._members[1:]) * slack[0]
        x, image = self._factor.solve(-slack)
        x = self._whole(x)
        return x, self._image(x, self.members, image)

    def _image(self, x: np.ndarray, points: np.ndarray, image: np.ndarray) -> np.ndarray:
        """Return Σ x_i z_i over some points, where the factor may know it with more digits."""
        if not self.by_vectors:
            return np.asarray(self.rows.exact_combination(x, points))
        return np.append(image, EXTENDED(0.0)) if self._n_first else image

    def _rebuild(self, points: list[int]) -> None:
        """Have these members, but for those that depend on others, and factor anew."""
        self._members, self._looked_at = [], None
        self._factor.clear()
        for k in points:
            self.add(k)

    def _replace_first(self) -> None:
        """Let the second member be the first one, from now on."""
        del self._members[0]
        if not self._members:
            self._looked_at = None
            return
        first = self._members[0]
        if self.length[first] > MUCH_LONGER * self.length[self._members].min():
            self._rebuild(sorted(self._members, key=self.length.__getitem__))
        else:
            coming = 0.0 if self._looked_at is None else self._ratio([self._looked_at])[0]
            self._factor.subtract_first(self._ratio(self._members[1:]), coming)

    def _ratio(self, points: list[int]) -> np.ndarray:
        return np.asarray(self.sign[points] * self.sign[self._members[0]])

    def _scale(self, k: int) -> float:
        """Return the length that rounding of the row of k is relative to."""
        first = self.length[self._members[0]] if self._n_first else 0.0
        return float(max(self.length[k], first))

    def _look_at(self, k: int) -> None:
        """Let the factor look at the row of k."""
        if self._looked_at == k:
            return
        self._looked_at = k
        if not self._n_first:
            row = self.rows.exact_combination(np.ones(1, EXTENDED), np.array([k], np.int32))
        else:
            ratio = self._ratio([k])[0]
            pair = np.array([k, self._members[0]], np.int32)
            row = self.rows.exact_combination(np.array([1.0, -ratio], EXTENDED), pair)
        if self.by_vectors:
            self._factor.project(row[:-1] if self._n_first else row)
            return
        products = self.rows.exact_products(row, np.array([*self._members, k], np.int32))
        if self._n_first:
            products = products[1:] - self._ratio([*self._members[1:], k]) * products[0]
        self._factor.project_products(products[:-1], products[-1])

    def distances(self, points: np.ndarray) -> np.ndarray:
        """Return how far the rows of some points are from the span of the members', roughly."""
        if not self.by_vectors:
            found = []
            for k in points.tolist():
                self._look_at(k)
                found.append(float(self._factor.distance))
            return np.array(found)
        rest = self.rows.block(points.astype(np.int32))
        if self._n_first:
            ratio = self._ratio(points.tolist()).astype(float)
            rest -= ratio[:, np.newaxis] * self.rows.block(self.members[:1])
            rest = np.ascontiguousarray(rest[:, :-1])
        return np.asarray(self._factor.distances(rest))

    def _whole(self, x: np.ndarray, k: int | None = None) -> np.ndarray:
        """Return x with the part of the first member in front."""
        if not self._n_first:
            return x
        others = self._members[1:] if k is None else [*self._members[1:], k]
        return np.append(-(self._ratio(others) @ x), x)
