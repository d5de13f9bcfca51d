"""Learning from a table how tables become features and responses."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from taupath.preparation import labels
from taupath.preparation.columns import ColumnFeatures
from taupath.preparation.labels import Label
from taupath.preparation.matrices import MatrixFeatures
from taupath.preparation.state import take_choice, take_dict, take_text, take_texts, take_whole
from taupath.tables import Table, TableError
from taupath.tables.table import listed

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["Preparation"]

TASKS = ("classify", "regress")
# Names, in small letters, that say that a column is the target.
TARGET_NAMES = ("target", "class", "label", "y")
# Of the state; a change that older readers would misunderstand raises it.
STATE_VERSION = 1


class Preparation:
    """How tables become features and responses; learned once, then the same for every table.

    Made by `learn` or `from_state`.

    Attributes
    ----------
    task : {"classify", "regress"}
        What the responses are.
    target : str or None
        Column of the responses; None for the labels that come with a matrix.
    ignore : list of str
        Columns that are not used.
    classes : list of str, int or float, or None
        Labels in order, the positive one last; None for regression.
    feature_names : list of str
        Names of the features: columns, ``column=category`` for text, x1, x2, … for a matrix.
    n_features : int
        Number of features.
    """

    def __init__(
        self,
        task: str,
        target: str | None,
        ignore: Sequence[str],
        classes: Sequence[Label] | None,
        features: ColumnFeatures | MatrixFeatures,
    ) -> None:
        self.task = task
        self.target = target
        self.ignore = list(ignore)
        self.classes = None if classes is None else list(classes)
        self._features = features

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return list(self._features.feature_names)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._features.n_features

    @classmethod
    def learn(
        cls,
        table: Table,
        *,
        target: str | None = None,
        task: str = "classify",
        standardize: bool = False,
        positive: Label | None = None,
        ignore: Sequence[str] = (),
    ) -> "Preparation":
        """Return the preparation that a table to learn from asks for.

        Numeric columns are used as they are; a column of text becomes one feature of zeros and
        ones for each of its categories.

        Parameters
        ----------
        table : Table
            Rows to learn from.
        target : str, optional
            Name of the column of responses, or its number, counted from one, as text. By default
            the only column called target, class, label or y in any case, else the last one. A
            matrix has its labels instead.
        task : {"classify", "regress"}
            What the responses are.
        standardize : bool
            Whether numeric columns get mean 0 and standard deviation 1, constant ones only mean 0.
            Columns of a sparse matrix are divided by their largest absolute value instead.
        positive : str, int or float, optional
            Which of two classes comes last; by default the one that is later in order.
        ignore : sequence of str
            Names of columns to leave out.

        Raises
        ------
        TableError
            If the table cannot be learned from; the message says where and why.
        """
        if task not in TASKS:
            raise ValueError(f"task must be one of {', '.join(TASKS)}; got {task!r}")
        if positive is not None and task != "classify":
            raise ValueError("a positive class goes with task 'classify' only")
        if table.n_rows == 0:
            raise TableError(f"{table.source}: there are no rows to learn from")
        ignore = list(dict.fromkeys(ignore))
        if table.names is None:
            if target is not None or ignore:
                raise TableError(
                    f"{table.source}: a matrix has no named columns to predict or to ignore; "
                    "its labels are the target"
                )
            column, names = None, []
        else:
            column = _target_column(table, table.names, target, ignore)
            names = _feature_columns(table, column, ignore)
        responses = _responses(table, column)
        if task == "classify":
            classes = labels.learn_classes(responses, table, column, positive)
        else:
            labels.numbers(responses, table, column)
            classes = None
        features = (
            MatrixFeatures.learn(table, standardize)
            if column is None
            else ColumnFeatures.learn(table, names, standardize)
        )
        return cls(task, column, ignore, classes, features)

    def features(self, table: Table) -> "np.ndarray | sp.csr_array":
        """Return the features of a table.

        Columns that are not the model's are ignored. A sparse matrix may have fewer columns than
        the model: those after its last are zero.

        Parameters
        ----------
        table : Table
            Rows with the columns that were learned from; responses need not be there.

        Returns
        -------
        ndarray or csr_array of shape (n_rows, n_features)
            Float64.

        Raises
        ------
        TableError
            If a column is missing or has text for numbers, a category was never seen, or a
            matrix is wider than the model's.
        """
        return self._features.apply(table)

    def has_response(self, table: Table) -> bool:
        """Return whether a table has responses.

        It has none if the target column is not there or is empty. LIBSVM files always have a
        label; where rows are to be predicted it is a stand-in: the same in all of them, and
        none of the classes, or 0 for regression.
        """
        if self.target is not None:
            names = table.names
            return names is not None and self.target in names and not table.is_blank(self.target)
        if table.labels is None:
            return False
        if self.classes is None:
            return bool(table.labels.dtype == object or np.any(table.labels != 0))
        return labels.is_known(table.labels, self.classes)

    def response(self, table: Table) -> np.ndarray:
        """Return the responses of a table.

        Parameters
        ----------
        table : Table
            Rows with the target column, or with labels.

        Returns
        -------
        ndarray of shape (n_rows,)
            Integer codes 0, 1, … into ``classes``, or numbers in float64 for regression.

        Raises
        ------
        TableError
            If there are no responses, or one is not of the classes or not a number.
        """
        values = _responses(table, self.target)
        if self.classes is None:
            return labels.numbers(values, table, self.target)
        return labels.codes(values, table, self.target, self.classes)

    def state(self) -> dict[str, Any]:
        """Return all of it as a dict of JSON types, from which `from_state` makes it again."""
        return {
            "version": STATE_VERSION,
            "task": self.task,
            "target": self.target,
            "ignore": list(self.ignore),
            "classes": None if self.classes is None else list(self.classes),
            "features": self._features.state(),
        }

    @classmethod
    def from_state(cls, state: Any) -> "Preparation":
        """Return the preparation that a state was taken of.

        Parameters
        ----------
        state : dict
            As `state` gives it, perhaps from a file: nothing in it is trusted.

        Raises
        ------
        ValueError
            If it is no such state.
        """
        what = "the preparation"
        if isinstance(state, dict) and "version" in state:
            take_whole(state["version"], f"{what}: version", STATE_VERSION, STATE_VERSION)
        keys = {"version", "task", "target", "ignore", "classes", "features"}
        checked = take_dict(state, what, keys)
        task = take_choice(checked["task"], f"{what}: task", TASKS)
        ignore = take_texts(checked["ignore"], f"{what}: ignore")
        target, classes = checked["target"], checked["classes"]
        if (classes is None) != (task == "regress"):
            raise ValueError(f"{what}: there are classes if and only if the task is to classify")
        if classes is not None:
            classes = labels.classes_from_state(classes)
        if target is None:
            return cls(task, None, ignore, classes, MatrixFeatures.from_state(checked["features"]))
        take_text(target, f"{what}: target")
        features = ColumnFeatures.from_state(checked["features"])
        if {target, *ignore} & {column.name for column in features.columns} or target in ignore:
            raise ValueError(f"{what}: a column is both used and left out")
        return cls(task, target, ignore, classes, features)


def _target_column(
    table: Table, names: list[str], target: str | None, ignore: Sequence[str]
) -> str:
    """Return the name of the target column."""
    unknown = [name for name in ignore if name not in names]
    if unknown:
        raise TableError(
            f"{table.source}: columns to ignore are not there: {listed(unknown)}; "
            f"the file has {listed(names)}"
        )
    if target is None:
        candidates = [name for name in names if name not in ignore]
        if not candidates:
            raise TableError(f"{table.source}: all columns are ignored")
        named = [name for name in candidates if name.lower() in TARGET_NAMES]
        return named[0] if len(named) == 1 else candidates[-1]
    if target not in names:
        place = int(target) if target.isdecimal() and len(target) < 10 else 0
        if not 1 <= place <= len(names):
            raise TableError(
                f"{table.source}: there is no target column {target!r}; "
                f"the file has {listed(names)}"
            )
        target = names[place - 1]
    if target in ignore:
        raise TableError(f"{table.source}: column {target!r} is the target and cannot be ignored")
    return target


def _responses(table: Table, target: str | None) -> np.ndarray:
    """Return the target column, or the labels of a matrix."""
    if target is not None:
        return table.column(target)
    if table.labels is None:
        missing = "it has named columns" if table.matrix is None else "there are no labels 'y'"
        raise TableError(f"{table.source}: {missing}, but the labels of a matrix are needed")
    return table.labels


def _feature_columns(table: Table, target: str, ignore: Sequence[str]) -> list[str]:
    """Return the columns that are left for features."""
    names = [name for name in table.names or [] if name != target and name not in ignore]
    if not names:
        hint = "" if ignore else "; cells are separated by commas, tabs or semicolons"
        raise TableError(f"{table.source}: there is no column besides the target {target!r}{hint}")
    return names
