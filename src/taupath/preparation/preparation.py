"""Learning from a table how tables become features and responses."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from taupath.choices import MISSING, TASKS, UNSEEN
from taupath.preparation import labels
from taupath.preparation.checked_json import take, take_choice, take_dict, take_texts, take_whole
from taupath.preparation.column_notes import index_columns, notes_on
from taupath.preparation.columns import ColumnFeatures
from taupath.preparation.feature_state import feature_state, features_from_state
from taupath.preparation.labels import Label
from taupath.preparation.learn_columns import learn_columns
from taupath.preparation.matrices import MatrixFeatures
from taupath.preparation.target_and_features import (
    complete_rows,
    feature_columns,
    responses,
    target_column,
)
from taupath.tables import Table, TableError
from taupath.tables.messages import quoted

if TYPE_CHECKING:
    import scipy.sparse as sp

# Version of the state. It rises with every change that an older reader would misunderstand.
STATE_VERSION = 2


class Preparation:
    """How tables become features and responses; learned once, then the same for every table.

    Made by `learn` or `from_state`.

    Attributes
    ----------
    task : {"classify", "regress"}
        What the responses are.
    target : str or None
        Column of the responses; None for the labels that come with a matrix, and where it is not
        known.
    drop : list of str
        Columns that are not used.
    keep : list of str
        Columns that are not used either, but are copied to the output of `taupath predict`.
    missing : {"error", "impute", "drop"}
        What is done about missing cells: they are errors, they are filled in, or their rows are
        left out.
    classes : list of str, int or float, or None
        Labels in order, the positive one last; None for regression.
    columns : ColumnFeatures or MatrixFeatures
        How columns, or those of a matrix, become features.
    feature_names : list of str
        Names of the features: columns, ``column=category`` for text, ``column (missing)`` for
        missing cells; x1, x2, … for a matrix.
    n_features : int
        Number of features.
    why_positive : str
        Of two classes that were just learned: why the last one is positive.
    notes : list of str
        What was found in the table that was just learned from, a line each.
    """

    why_positive = ""
    notes: Sequence[str] = ()

    def __init__(
        self,
        task: str,
        target: str | None,
        classes: Sequence[Label] | None,
        columns: ColumnFeatures | MatrixFeatures,
        *,
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        missing: str = "error",
    ) -> None:
        self.task = task
        self.target = target
        self.classes = None if classes is None else list(classes)
        self.columns = columns
        self.drop = list(drop)
        self.keep = list(keep)
        self.missing = missing

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return list(self.columns.feature_names)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.columns.n_features

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns that features are made of; None for a matrix."""
        return self.columns.names if isinstance(self.columns, ColumnFeatures) else None

    def with_target(self, target: str) -> "Preparation":
        """Return the same preparation with another column of responses."""
        if target in (self.column_names or ()):
            raise TableError(f"column {quoted(target)} is a feature of the model, not its target")
        others = {
            "drop": [name for name in self.drop if name != target],
            "keep": [name for name in self.keep if name != target],
        }
        return Preparation(
            self.task, target, self.classes, self.columns, missing=self.missing, **others
        )

    @classmethod
    def learn(
        cls,
        table: Table,
        *,
        target: str | None = None,
        task: str = "classify",
        standardize: bool = False,
        positive: Label | None = None,
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        missing: str = "error",
        flag_missing: bool = False,
        unseen: str = "ignore",
        trusted: bool = False,
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
            Columns of a sparse matrix are not shifted.
        positive : str, int or float, optional
            Which of two classes comes last; by default 1, yes, true or positive beside their
            opposites, else the one that is later in order.
        drop : sequence of str
            Names of columns to leave out.
        keep : sequence of str
            Names of columns that are not features but are copied to the output.
        missing : {"error", "impute", "drop"}
            What is done about missing cells: they are errors; or numbers count as the median of
            their column and text as its most frequent category; or such rows are left out. With
            the last two, rows without a response are left out, too.
        flag_missing : bool
            With ``missing="impute"``: whether columns with missing cells get one more feature, 1
            where a cell is missing.
        unseen : {"ignore", "error"}
            What a text that occurs only in later tables is: no category, or an error.
        trusted : bool
            Whether columns are used as they are, even if they look like identifiers, like an
            index, or like numbers with typing errors: for part of a table that was learned from.

        Raises
        ------
        TableError
            If the table cannot be learned from; the message says where and why.
        """
        for name, value, choices in (
            ("task", task, TASKS),
            ("missing", missing, MISSING),
            ("unseen", unseen, UNSEEN),
        ):
            if value not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
        if positive is not None and task != "classify":
            raise ValueError("a positive class goes with task 'classify' only")
        if flag_missing and missing != "impute":
            raise ValueError("flags for missing cells go with missing='impute' only")
        if table.n_rows == 0:
            raise TableError(f"{table.source}: there are no rows to learn from")
        drop, keep = list(dict.fromkeys(drop)), list(dict.fromkeys(keep))
        rows, names, index = table, [], []
        if table.names is None:
            if target is not None or drop or keep:
                raise TableError(
                    f"{table.source}: a matrix has no named columns to predict, to keep or to "
                    "drop; its labels are the target"
                )
            if missing != "error":
                raise TableError(
                    f"{table.source}: a matrix has no missing cells; --missing is for named columns"
                )
        else:
            target = target_column(table, target, drop, keep, missing)
            if not trusted:
                left_out = {target, *drop, *keep}
                index = index_columns(table, [name for name in table.names if name not in left_out])
                drop += index
            names = feature_columns(table, target, [*drop, *keep])
            if missing != "error":
                needed = [target, *names] if missing == "drop" else [target]
                rows = complete_rows(table, needed, learning=True)
        found, classes = responses(rows, target), None
        if task == "classify":
            classes = labels.learn_classes(found, rows, target, positive)
        else:
            labels.numbers(found, rows, target)
        features: ColumnFeatures | MatrixFeatures
        if target is None:
            features = MatrixFeatures.learn(rows, standardize)
        else:
            features = learn_columns(
                rows,
                names,
                standardize=standardize,
                impute=missing == "impute",
                flag_missing=flag_missing,
                unseen=unseen,
                trusted=trusted,
            )
        learned = cls(task, target, classes, features, drop=drop, keep=keep, missing=missing)
        if classes is not None and len(classes) == 2:
            learned.why_positive = labels.why_positive(classes, asked=positive is not None)
        if isinstance(features, ColumnFeatures) and target is not None and not trusted:
            learned.notes = notes_on(table, rows, features, target, index)
        return learned

    def features(self, table: Table, unseen: str | None = None) -> "np.ndarray | sp.csr_array":
        """Return the features of a table.

        Columns that are not the model's are ignored. A sparse matrix may have fewer columns than
        the model: those after its last are zero.

        Parameters
        ----------
        table : Table
            Rows with the columns that were learned from; responses need not be there.
        unseen : {"ignore", "error"}, optional
            What texts that training did not have are, in place of what `learn` was asked for.

        Returns
        -------
        ndarray or csr_array of shape (n_rows, n_features)
            Float64.

        Raises
        ------
        TableError
            If a column is missing or has text instead of numbers, a missing cell cannot be filled
            in, a category was never seen and is not ignored, or a dense matrix has another number
            of columns than the model.
        """
        if isinstance(self.columns, ColumnFeatures):
            return self.columns.apply(table, unseen)
        return self.columns.apply(table)

    def incomplete(self, table: Table) -> np.ndarray:
        """Return which rows have a missing cell in a column of the model."""
        if isinstance(self.columns, ColumnFeatures):
            return self.columns.incomplete(table)
        return np.zeros(table.n_rows, dtype=bool)

    def usable(self, table: Table) -> Table:
        """Return the rows of a table to train on, or to compare with the truth.

        All of them if missing cells are errors; otherwise those with a response, and if rows with
        missing cells are dropped only those where no cell of the model is missing.
        """
        target = self.target_in(table)
        if self.missing == "error" or target is None or table.is_blank(target):
            return table
        if self.missing == "drop" and isinstance(self.columns, ColumnFeatures):
            self.columns.check_names(table)
            return complete_rows(table, [target, *self.columns.names], learning=False)
        return complete_rows(table, [target], learning=False)

    def target_in(self, table: Table) -> str | None:
        """Return the column of a table that holds the responses, None if it is not there."""
        return self.target if self.target in (table.names or ()) else None

    def has_response(self, table: Table) -> bool:
        """Return whether a table has responses.

        It has none if the target column is not there or is empty. LIBSVM files always have a
        label; in rows to predict it is a placeholder: the same in all of them, and none of the
        classes, or 0 for regression.
        """
        if self.target is not None or isinstance(self.columns, ColumnFeatures):
            target = self.target_in(table)
            return target is not None and not table.is_blank(target)
        if table.labels is None:
            return False
        if self.classes is None:
            return bool(table.labels.dtype == object or np.any(table.labels != 0))
        return labels.is_known(table.labels, self.classes)

    def response(self, table: Table, target: str | None = None) -> np.ndarray:
        """Return the responses of a table.

        Parameters
        ----------
        table : Table
            Rows with the target column, or with labels.
        target : str, optional
            Another column that holds them.

        Returns
        -------
        ndarray of shape (n_rows,)
            Integer codes 0, 1, … into ``classes``, or numbers in float64 for regression.

        Raises
        ------
        TableError
            If there are no responses, or one is not of the classes or not a number.
        """
        target = self.target if target is None else target
        if target is None and isinstance(self.columns, ColumnFeatures):
            raise TableError(
                f"{table.source}: the model does not know which column holds the truth; name it: "
                "--target COLUMN, or y in Python"
            )
        values = responses(table, target)
        if self.classes is None:
            return labels.numbers(values, table, target)
        return labels.codes(values, table, target, self.classes)

    def state(self) -> dict[str, Any]:
        """Return the preparation as a dict of JSON types, which `from_state` reads."""
        return {
            "version": STATE_VERSION,
            "task": self.task,
            "target": self.target,
            "drop": list(self.drop),
            "keep": list(self.keep),
            "missing": self.missing,
            "classes": None if self.classes is None else list(self.classes),
            "features": feature_state(self.columns),
        }

    @classmethod
    def from_state(cls, state: Any) -> "Preparation":
        """Return the preparation of a state.

        Parameters
        ----------
        state : dict
            As `state` of this version or an earlier one returns it. It may come from a file:
            nothing in it is trusted.

        Raises
        ------
        ValueError
            If it is not a valid state.
        """
        what = "the preparation"
        version = STATE_VERSION
        if isinstance(state, dict) and "version" in state:
            version = take_whole(state["version"], f"{what}: version", 1, STATE_VERSION)
        keys = {"version", "task", "target", "classes", "features"}
        keys |= {"ignore"} if version == 1 else {"drop", "keep", "missing"}
        checked = take_dict(state, what, keys)
        if version == 1:
            checked = {**checked, "drop": checked["ignore"], "keep": [], "missing": "error"}
        task = take_choice(checked["task"], f"{what}: task", TASKS)
        missing = take_choice(checked["missing"], f"{what}: missing", MISSING)
        drop = take_texts(checked["drop"], f"{what}: {'ignore' if version == 1 else 'drop'}")
        keep = take_texts(checked["keep"], f"{what}: keep")
        target, classes = checked["target"], checked["classes"]
        if (classes is None) != (task == "regress"):
            raise ValueError(f"{what}: there are classes if and only if the task is to classify")
        if classes is not None:
            classes = labels.classes_from_state(classes)
        features = features_from_state(checked["features"], version)
        used = features.names if isinstance(features, ColumnFeatures) else []
        if target is not None:
            used = [*used, take(target, f"{what}: target", str)]
        if len({*used, *drop, *keep}) < len(used) + len(drop) + len(keep):
            raise ValueError(f"{what}: a column is both used and left out")
        if isinstance(features, MatrixFeatures) and (target is not None or drop or keep):
            raise ValueError(f"{what}: a matrix has no named columns")
        return cls(task, target, classes, features, drop=drop, keep=keep, missing=missing)
