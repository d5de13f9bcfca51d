"""Writing a report, completely or not at all."""

import os
from importlib.metadata import version
from typing import Any

import numpy as np

from taupath.atomic_files import replacing
from taupath.estimators.fingerprints import in_words, share_seen
from taupath.estimators.regressor import QuantileSVR
from taupath.paths.crossings import Changes
from taupath.report.assembly import assemble_page
from taupath.report.binary_payload import binary_payload, outcomes_payload
from taupath.report.encoding import visible
from taupath.report.frontiers import check_frontiers, frontiers_payload
from taupath.report.inputs import (
    check_certificate,
    check_compare,
    check_files,
    check_provenance,
    check_source,
)
from taupath.report.listed_cases import find_columns
from taupath.report.quantile_payload import quantile_payload
from taupath.report.several_payload import several_payload


def write_report(
    file: str | os.PathLike[str],
    estimator: Any,
    X: Any,
    y: Any,
    *,
    class_names: Any = None,
    feature_names: Any = None,
    columns: Any = None,
    title: str | None = None,
    provenance: Any = None,
    certificate: Any = None,
    stored_certificate: bool = False,
    target_name: str | None = None,
    cases: bool = True,
    compare: Any = None,
    frontiers: Any = None,
    group: Any = None,
    files: tuple[str, str] | None = None,
) -> None:
    """Write a page that shows what a model does at any costs: one file, for any browser.

    The page computes everything itself, for any τ, from what is stored in it: all changes of all
    predictions exactly, and functions that are only drawn or printed, to a thousandth of their
    range.

    Parameters
    ----------
    file : path
        The HTML file. It is replaced only when the new one is complete.
    estimator : QuantileSVC or QuantileSVR
        Fitted; also as the last step of a pipeline, or in a search.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Cases to judge the model by, as the estimator takes them; preferably ones that it was not
        fitted to.
    y : array-like of shape (n_samples,)
        Their labels, or the numbers to be predicted. Of two classes, both must occur.
    class_names : sequence of str, optional
        What to call ``classes_[0]``, ``classes_[1]``, ...
    feature_names : sequence of str, optional
        What to call the features the estimator was fitted to; by default the names it knows.
    columns : dict from str to sequences, optional
        What to show about each case. By default the columns of `X`, up to 30, those with the
        largest weights first. If numeric columns are given as they were before scaling, weights are
        shown per unit of these columns.
    title : str, optional
        Title of the page.
    provenance : dict from str to str, optional
        How the model was trained, shown as a table.
    certificate : Certificate, optional
        What ``estimator.path_.certify()`` returned.
    stored_certificate : bool, default=False
        Whether the certificate was read from a file, not computed from the training data. The page
        then says so.
    target_name : str, optional
        What is predicted, such as "diagnosis"; by default the name of a series given as `y`.
    cases : bool, default=True
        Whether single cases may be in the file. If not, it holds aggregates only: counts, rates,
        means and weights, but no row, no value of a column and no name of any case. Counts are
        then given at all cost ratios with two digits, from 1 : 10 000 to 10 000 : 1; for several
        classes, from probabilities in hundredths; for a regression, at all thousandths of τ.
    compare : dict from str to classifiers, optional
        Fitted scikit-learn classifiers of two classes with ``predict_proba``, by the names to show.
        They take the same `X`, decide by the threshold τ, and are drawn beside the path:
        ``{"logistic regression": LogisticRegression().fit(X_train, y_train)}``.
    frontiers : dict from str to SolutionPath, optional
        Paths of `sparsity_path` or `fairness_path`, by the names to show, over the features and
        classes of the estimator: ``{"Fewer features": taupath.sparsity_path(X_train, y_train)}``.
        The page shows what their decisions about these cases cost along the whole path, in counts
        at 201 values.
    group : array-like of shape (n_samples,), optional
        Two values, the group of each case: for frontiers, the shares of both groups that are taken
        for positive are shown, too.
    files : (str, str), optional
        Names of the model file and the data file, for the commands that the page offers to copy.

    Raises
    ------
    OSError
        If the file cannot be written.

    Notes
    -----
    All cases are in the counts, rates and means. If there are many, only those that the model is
    most wrong about are listed one by one, and the page says so: up to 5000 for a classifier, fewer
    if the path has more than 8000 kinks, and up to 1000 for a regression. Each of the others takes
    12 bytes for every change of its prediction; most change once.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from taupath import QuantileSVC
    >>> from taupath.report import write_report
    >>> data = load_breast_cancer()
    >>> X, y = scale(data.data), data.target  # 0 is malignant, 1 is benign
    >>> model = QuantileSVC(C=0.1, pos_label=0).fit(X[::2], y[::2])
    >>> write_report("report.html", model, X[1::2], y[1::2], class_names=data.target_names)
    """
    source = check_source(
        estimator,
        X,
        y,
        class_names=class_names,
        feature_names=feature_names,
        target_name=target_name,
        columns=columns,
    )
    others = check_compare(compare, source)
    along = check_frontiers(frontiers, group, source)
    shown = find_columns(source) if cases else None
    if isinstance(source.model, QuantileSVR):
        payload, usual = quantile_payload(source, shown), "Every quantile at once"
    elif len(source.model.classes_) == 2:
        payload, usual = binary_payload(source, shown, others), "What do mistakes cost you?"
        payload["frontiers"] = frontiers_payload(along, group, source)
    elif others:
        raise ValueError("compare is for classifiers of two classes")
    else:
        payload, usual = several_payload(source, shown), "Any cost of any mistake"
    payload |= {
        "title": usual if title is None else str(title),
        "target": source.target_name,
        "seen": in_words(share_seen(estimator, X)),
        "about": None,
        **_origin(files, provenance, certificate, stored_certificate),
    }
    _write(file, payload, len(source.y))


def write_outcomes(
    file: str | os.PathLike[str],
    positive: Any,
    changes: Changes,
    *,
    class_names: list[str],
    title: str,
    about: str,
    target_name: str | None = None,
    files: tuple[str, str] | None = None,
    provenance: Any = None,
    certificate: Any = None,
    stored_certificate: bool = False,
    with_costs: bool = False,
    least: float = 0.0,
) -> None:
    """Write a page of aggregates from which cases are positive and the decisions at every τ.

    `class_names` are those of the negative and the positive class. `about` tells readers where the
    decisions come from. `with_costs` says whether costs were in training, and `least` is the least
    probability. The other arguments are as in `write_report`.
    """
    truth = np.asarray(positive, dtype=bool)
    payload = outcomes_payload(truth, changes, class_names, with_costs, least) | {
        "title": title,
        "target": target_name,
        "seen": None,
        "about": about,
        **_origin(files, provenance, certificate, stored_certificate),
    }
    _write(file, payload, len(positive))


def _origin(files: Any, provenance: Any, certificate: Any, stored: bool) -> dict[str, Any]:
    return {
        "files": check_files(files),
        "certificate": check_certificate(certificate, stored),
        "provenance": check_provenance(provenance),
    }


def _write(file: str | os.PathLike[str], payload: dict[str, Any], n_samples: int) -> None:
    payload |= {"version": version("taupath"), "holds": _holds(payload["cases"], n_samples)}
    page = assemble_page(visible(payload)).encode("utf-8", "replace")
    with replacing(file) as stream:
        stream.write(page)


def _holds(cases: dict[str, Any] | None, n_samples: int) -> str:
    """Return what a page says about the data in its file; `cases` are those that it lists."""
    if cases is None:
        return "This file holds aggregates only: no row and no value of any single case."
    count, columns = cases["count"], len(cases["columns"])
    of_all = "" if count == n_samples else f" of {n_samples}"
    each = "" if columns == 0 else f" with {columns} column{'s' if columns > 1 else ''} each"
    return (
        f"This file holds {count}{of_all} case{'s' if n_samples > 1 else ''}{each}: "
        "anyone who can open it can read them."
    )
