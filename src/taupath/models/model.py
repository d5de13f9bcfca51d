"""A trained model: an estimator, how raw files become its features, and how it was trained."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from taupath import upward
from taupath.choices import names_of_unnamed
from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.explanation import Explanation
from taupath.estimators.probability_intervals import ProbabilityIntervals
from taupath.models.explaining import parts_of_columns
from taupath.outcomes.held_out import HeldOut
from taupath.outcomes.operating import OperatingPoint
from taupath.preparation import Preparation
from taupath.tables import Table, TableError, as_table
from taupath.tables.frames import is_table
from taupath.tables.messages import listed
from taupath.validation import check_features

Method = TypeVar("Method", bound=Callable[..., Any])


def _if_it_can(method: Method) -> Method:
    """Make a method available only if the estimator has one of that name."""
    name = method.__name__
    return cast("Method", available_if(lambda model: hasattr(model.estimator, name))(method))


def with_columns(given: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Return arguments with the numbers of a column in place of its name."""
    return {
        name: column_of(name, value, table) if isinstance(value, str) else value
        for name, value in given.items()
    }


def column_of(name: str, column: str, table: Table) -> np.ndarray:
    """Return the numbers of a column; costs must not be negative."""
    numbers = table.numbers(column)
    if name in ("cost_fp", "cost_fn") and (numbers < 0.0).any():
        row = int((numbers < 0.0).argmax())
        table.fail(row, f"a cost must not be negative, got {numbers[row]:g}", column)
    return numbers


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A fitted estimator for raw data: what ``taupath fit`` and `taupath.save` write.

    Wherever samples are asked for, it takes a data frame (of pandas or polars), a dict of columns
    or the name of a raw file: CSV, Parquet and others. Columns may be in any order, and columns
    that the model does not know are ignored. A model of a matrix takes an array. Predictions are
    those of ``taupath predict``. It can be used wherever scikit-learn takes a fitted classifier or
    regressor.

    Attributes
    ----------
    estimator : QuantileSVC or QuantileSVR
        Fitted. A classifier's labels are 0, 1, ...: places in ``preparation.classes``.
    preparation : Preparation
        Scaling, encoding and the names of columns: raw data in, features out.
    trained : dict
        How it was trained, for people to read.
    held_out : HeldOut or None
        Results on rows that were held out of training, if that was asked for.
    operating_point : OperatingPoint or None
        Stored by ``taupath operate --save``: a τ for `predict`, and what is promised there.
    classes_ : ndarray of shape (n_classes,)
        The labels of a classifier as the file had them, sorted.
    pos_label_ : label
        The positive class, where there are two.
    feature_names_in_ : ndarray of str
        The columns that are needed; a model of a matrix has none.
    path_ : SolutionPath
        The path, unless there are several classes. For two, f_τ(x) ≥ 0 decides for `pos_label_`.
    """

    estimator: Any  # `task` tells which of the two
    preparation: Preparation
    trained: dict[str, Any] = field(default_factory=dict)
    held_out: HeldOut | None = None
    operating_point: OperatingPoint | None = None

    def __post_init__(self) -> None:
        if self.task == "classify":
            self.estimator._names = self.labels

    def __repr__(self) -> str:
        what = "classifier" if self.task == "classify" else "regression"
        return f"<taupath Model: {what} with {self.preparation.n_features} features>"

    @property
    def task(self) -> str:
        """Whether it is to "classify" or to "regress"."""
        return "classify" if isinstance(self.estimator, QuantileSVC) else "regress"

    @property
    def labels(self) -> list[Any]:
        """The labels of a classifier as the file had them; of two, the positive one is last."""
        return list(self.preparation.classes or ())

    def save(self, file: str | os.PathLike[str], data: bool | None = None) -> None:
        """Write the model to a file that `taupath.load` reads; `data` as in `QuantileSVC.save`."""
        upward.save(self, file, data)

    # -- what scikit-learn asks for ----------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        """The labels of a classifier, sorted."""
        if self.preparation.classes is None:
            raise AttributeError("a regression has no classes_")
        return np.sort(np.array(self.labels))

    @property
    def pos_label_(self) -> Any:
        """The positive class, where there are two."""
        if len(self.labels) != 2:
            raise AttributeError("only a model of two classes has a positive one")
        return self.labels[1]

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The columns that are needed, in the order of the features."""
        if self.preparation.column_names is None:
            raise AttributeError("the columns of a matrix have no names")
        return np.array(self.preparation.column_names, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many columns are needed."""
        names = self.preparation.column_names
        return self.preparation.n_features if names is None else len(names)

    @property
    def path_(self) -> Any:
        """The path, unless there are several classes."""
        return self.estimator.path_

    def __sklearn_tags__(self) -> Any:
        tags = get_tags(self.estimator)
        named = self.preparation.column_names is not None
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = named
        tags.input_tags.sparse = tags.input_tags.sparse and not named
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Raise an error: a model is trained already, but scikit-learn requires the method."""
        raise TypeError(
            "a loaded model cannot be fitted again; use `taupath fit`, or fit an estimator"
        )

    # -- predictions -------------------------------------------------------------------------------

    def predict(
        self,
        X: Any,
        *,
        tau: Any = None,
        cost_fp: Any = None,
        cost_fn: Any = None,
        cost_matrix: Any = None,
        taus: Any = None,
        quantile: Any = None,
    ) -> np.ndarray:
        """Predict labels as the file had them, for costs of your choice, or quantiles.

        Parameters
        ----------
        X : data frame, dict of columns, or file name
            Samples.
        tau, cost_fp, cost_fn : float, array-like of shape (n_samples,) or str, optional
            As in `QuantileSVC.predict`; also the name of a column of X with one for each sample.
        cost_matrix : array-like of shape (n_classes, n_classes), optional
            As in `QuantileSVC.predict`: rows and columns in the order of `classes_`.
        taus : array-like of shape (n_taus,), optional
            Several τ: one column of labels for each.
        quantile : float or array-like of shape (n_quantiles,), optional
            Of a regression, as in `QuantileSVR.predict`.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_taus) or (n_samples, n_quantiles)
        """
        table, features = self._prepared(X)
        given: dict[str, Any] = {
            "tau": tau,
            "cost_fp": cost_fp,
            "cost_fn": cost_fn,
            "cost_matrix": cost_matrix,
            "taus": taus,
            "quantile": quantile,
        }
        given = {name: value for name, value in given.items() if value is not None}
        classify = self.task == "classify"
        unfit = [name for name in given if (name == "quantile") == classify]
        if unfit:
            others = "regressions" if classify else "classifiers"
            raise ValueError(f"{unfit[0]} is for {others}, not for this model")
        if not classify:
            return np.asarray(self.estimator.predict(features, **given))
        codes = self.estimator.predict(features, **self._in_its_terms(given, table))
        return np.asarray(np.array(self.labels)[codes])

    @_if_it_can
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, in the order of `classes_`.

        Parameters
        ----------
        X : data frame, dict of columns, or file name
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        _, features = self._prepared(X)
        return np.asarray(self.estimator.predict_proba(features)[:, self._order])

    @_if_it_can
    def predict_proba_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Return an interval for the probability of the positive class.

        As in `QuantileSVC.predict_proba_interval`, for X as in `predict_proba`. It comes from the
        out-of-fold rows of a search, or else from the rows that ``taupath fit --folds`` or
        ``--holdout`` held out.
        """
        _, features = self._prepared(X)
        estimator = self.estimator
        if estimator._intervals is None and self.held_out is not None and len(self.labels) == 2:
            outcomes = self.held_out.outcomes
            intervals = ProbabilityIntervals()  # the models of folds predicted these rows
            intervals.fit(outcomes.probabilities()[:, 1], outcomes.truth, out_of_fold=True)
            proba = estimator._unclipped(estimator._check_new(features))
            return intervals.interval(proba[:, 1], coverage)
        return np.asarray(estimator.predict_proba_interval(features, coverage))

    @_if_it_can
    def crossing_interval(self, X: Any) -> np.ndarray:
        """Return the first and the last τ where a sample's prediction changes.

        As in `QuantileSVC.crossing_interval`, for X as in `predict_proba`.
        """
        _, features = self._prepared(X)
        found = np.asarray(self.estimator.crossing_interval(features))
        return found if found.ndim == 2 else found[:, self._order]

    @_if_it_can
    def decision_function(self, X: Any, tau: Any = None, *, taus: Any = None) -> np.ndarray:
        """Return the decision function: ``classes_[1]`` is predicted where it is above 0.

        As in `QuantileSVC.decision_function`, for X, `tau` and `taus` as in `predict`.
        """
        table, features = self._prepared(X)
        given = self._in_its_terms({"tau": tau, "taus": taus}, table)
        found = np.asarray(self.estimator.decision_function(features, **given))
        if found.ndim == 2 and len(self.labels) > 2:
            return found[:, self._order]
        return found if self.classes_[1] == self.labels[1] else -found

    @_if_it_can
    def predict_interval(self, X: Any, coverage: float = 0.8) -> np.ndarray:
        """Predict an interval that holds y with probability `coverage`.

        Parameters
        ----------
        X : data frame, dict of columns, or file name
            Samples.
        coverage : float, default=0.8
            As in `QuantileSVR.predict_interval`.

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        _, features = self._prepared(X)
        return np.asarray(self.estimator.predict_interval(features, coverage))

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        cost_fp: Any = None,
        cost_fn: Any = None,
    ) -> float:
        """Return the accuracy, or D² of the pinball loss of a regression.

        Parameters
        ----------
        X : data frame, dict of columns, or file name
            Samples.
        y : array-like of shape (n_samples,), optional
            The truth: labels as the file had them, or numbers. By default the target column of X.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
        cost_fp, cost_fn : float, array-like of shape (n_samples,) or str, optional
            Return minus the mean cost of decisions for these costs instead. Two classes only.
        """
        table, features, truth = self._judged(X, y)
        costs = {"cost_fp": cost_fp, "cost_fn": cost_fn}
        given = {name: cost for name, cost in costs.items() if cost is not None}
        if given and self.task != "classify":
            raise ValueError("costs are for classifiers, not for this model")
        given = self._in_its_terms(given, table)
        return float(self.estimator.score(features, truth, sample_weight, **given))

    @_if_it_can
    def operate(self, X: Any = None, y: Any = None, **promises: Any) -> Any:
        """Return the τ at which a promise about new rows holds, see `taupath.operate`.

        Parameters
        ----------
        X : data frame, dict of columns, or file name, optional
            Rows that the model was not trained on. Without it, the rows that were held out when
            the model was trained, if there are any.
        y : array-like of shape (n_samples,), optional
            Labels as the file had them. By default the target column of X.
        **promises
            ``max_fpr``, ``min_recall``, ``min_precision``, ``max_alarms_per``, ``abstain`` and
            ``delta``, as in `taupath.operate`.

        Returns
        -------
        OperatingPoint
        """
        return upward.operate(self, X, y, promises)

    @_if_it_can
    def explain(
        self, X: Any, tau: Any = None, *, cost_fp: Any = None, cost_fn: Any = None
    ) -> list[Explanation]:
        """Explain the decision about each sample, in terms of raw columns. Two classes only.

        As in `QuantileSVC.explain`. The features of one column, such as one for each category, are
        added up. A part's reference is the number at which the column's feature is 0: the mean if
        columns are standardised.

        Parameters
        ----------
        X : data frame, dict of columns, or file name
            Samples.
        tau, cost_fp, cost_fn : float, array-like of shape (n_samples,) or str, optional
            As in `predict`.

        Returns
        -------
        list of Explanation
        """
        self.estimator._check_two_classes("explain")
        table, features = self._prepared(X)
        given = {"tau": tau, "cost_fp": cost_fp, "cost_fn": cost_fn}
        parts_of = parts_of_columns(self.preparation, table)
        explained: list[Explanation] = self.estimator._explain(
            features, **self._in_its_terms(given, table), parts_of=parts_of
        )
        return explained

    # -- in the estimator's terms ------------------------------------------------------------------

    @property
    def _order(self) -> np.ndarray:
        """Position of each of `classes_` among the estimator's classes."""
        return np.argsort(np.array(self.labels))

    def _prepared(self, X: Any) -> tuple[Table, Any]:
        """Return samples as a table, and their features."""
        table = as_table(X) if is_table(X) else self._array_as_table(X)
        return table, self.preparation.features(table)

    def _judged(self, X: Any, y: Any) -> tuple[Table, Any, np.ndarray]:
        """Return samples as a table, their features, and the truth as the estimator has it."""
        table, features = self._prepared(X)
        if y is None:
            return table, features, self.preparation.response(table)
        given = as_table({"y": y})
        if given.n_rows != table.n_rows:
            raise TableError(f"y has {given.n_rows} values, but there are {table.n_rows} rows")
        return table, features, self.preparation.response(given, "y")

    def _array_as_table(self, X: Any) -> Table:
        """Return the table of an array, whose columns are called x1, x2, and so on."""
        names = self.preparation.column_names
        if names is None:
            return Table("the array", matrix=check_features(X), unit="row")
        array = sp.csc_array(X) if sp.issparse(X) else np.asarray(X)
        unnamed = names_of_unnamed(array.shape[1]) if array.ndim == 2 else []
        columns: dict[str, Any]
        columns = {name: array[:, j] for j, name in enumerate(unnamed) if name in names}
        if len(columns) < len(names):
            raise TableError(
                f"the model takes columns by name: {listed(names)}; give a data frame, a dict of "
                "columns or the name of a file"
            )
        if sp.issparse(X):
            columns = {name: column.toarray().ravel() for name, column in columns.items()}
        return as_table(columns)

    def _in_its_terms(self, given: dict[str, Any], table: Table) -> dict[str, Any]:
        """Return arguments for the estimator: columns for their names, matrices in its order."""
        found = with_columns(given, table)
        if "cost_matrix" in found:
            matrix = np.asarray(found["cost_matrix"], dtype=float)
            if matrix.ndim >= 2 and matrix.shape[-2:] == (len(self.labels),) * 2:
                back = np.argsort(self._order)
                found["cost_matrix"] = matrix[..., back, :][..., :, back]
        return found
