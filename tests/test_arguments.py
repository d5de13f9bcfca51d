"""Whatever is passed to a public function or method: right, or refused in a line that names it."""

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import taupath
from lazily import Lazily

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
LABEL = np.arange(12) % 2
TARGET = X[:, 0] + 0.3 * RNG.normal(size=12)
# A few lines of a terminal.
LONGEST = 330

BAD: dict[str, Any] = {
    "text": "a",
    "long text": "x" * 2000,
    "NumPy text": np.str_("a"),
    "bytes": b"a",
    "None": None,
    "NaN": float("nan"),
    "infinite": np.inf,
    "negative": -1,
    "huge": 1e300,
    "too large for a float": 10**400,
    "True": True,
    "complex": 1j,
    "an object": object(),
    "a dictionary": {},
    "empty": [],
    "ragged": [[1, 2], [3]],
    "long": list(range(100_000)),
    "texts": np.array(["a"]),
    "no dimension": np.array(0.5),
    "two dimensions": np.zeros((2, 3)),
    "three dimensions": np.zeros((2, 2, 2)),
    "all NaN": np.full(12, np.nan),
    "all negative": -np.ones(12),
    "masked": np.ma.masked_array([0.5, 0.5], mask=[True, False]),
    "masked features": np.ma.masked_array(X, mask=X > 1.0),
}

# What may be right for an argument of this name, although it looks odd. (None is, where it is the
# default.)
NUMBER = {"no dimension"}
RIGHT: dict[str, set[str]] = {
    "tau": NUMBER | {"empty"},
    "taus": {"empty"},
    "quantile": NUMBER | {"empty"},
    "C": NUMBER,
    "lam": NUMBER,
    "C_max": NUMBER,
    "l1": NUMBER,
    "l1_max": NUMBER,
    "constraints": {"empty"},
    "coverage": NUMBER,
    "gamma": NUMBER,
    "coef0": NUMBER | {"negative"},
    "tol": NUMBER | {"huge"},
    "cache_size": NUMBER | {"huge"},
    "level": NUMBER | {"infinite", "negative", "huge", "True", "all negative"},
    "y": {"all negative"},
    "rows": {"empty"},
    "max_points": {"None", "too large for a float"},
    "n_jobs": {"negative"},
    "verbose": {"True", "too large for a float"},
    "pos_label": {"True"},
    "monotone": {"True"},
    "class_weight": {"a dictionary"},
    "cv": {"None"},
    "cost_fp": NUMBER | {"huge"},
    "cost_fn": NUMBER | {"huge"},
    "max_fpr": NUMBER,
    "min_recall": NUMBER,
    "min_precision": NUMBER,
    "max_alarms_per": NUMBER,
    "abstain": NUMBER,
    "delta": NUMBER,
}
# Of a number y that distributions are compared with.
RIGHT_LEVELS = RIGHT["level"] - {"True"}


def complaint(call: Callable[[Any], Any], name: str, what: str, right: set[str]) -> str | None:
    """Return what is wrong with how a call takes an argument, None if nothing is.

    It may accept what is in `right`, and must refuse all else.
    """
    place = f"{name} = {what}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a refusal is what is asked for
            result = call(BAD[what])
            if inspect.isgenerator(result):
                list(result)
    except (TypeError, ValueError) as error:
        message = str(error)
        if len(message) > LONGEST or message.count("\n") > 2:
            return f"{place}: a message of {len(message)} characters: {message[:200]}"
        # a path over C calls its parameter C, and a kernel knows its parameters together
        known = {name, "tau" if name == "taus" else name}
        known |= {"C"} if name in ("tau", "taus") else set()
        known |= {"kernel"} if name in ("gamma", "degree", "coef0") else set()
        if not any(each in message for each in known):
            return f"{place}: the message does not name it: {message[:200]}"
        return None
    except Exception as error:
        return f"{place}: {type(error).__name__}: {error}"[:250]
    return None if what in right else f"{place} is accepted"


def complaints(call: Callable[..., Any], given: dict[str, Any], right_y: set[str]) -> Iterator[str]:
    """Yield what is wrong with how a function takes its arguments; `given` are right ones."""
    for name, parameter in inspect.signature(call).parameters.items():
        if name in LEFT_OUT:
            continue
        right = right_y if name == "y" else RIGHT.get(name, set())
        right = right | ({"None"} if parameter.default is None else set())

        def one(value: Any, name: str = name) -> Any:
            return call(**{**given, name: value})

        found = (complaint(one, name, what, right) for what in BAD)
        yield from (each for each in found if each is not None)


# Files and random states are not ours to check, `which` and `columns` are NumPy's indices, and data
# are wrong as a whole on a path that has its own.
LEFT_OUT = {"file", "data", "random_state", "which", "columns"}

PATHS = Lazily(
    {
        "classification": lambda: taupath.quantile_path(X, LABEL),
        "regression": lambda: taupath.quantile_regression_path(X, TARGET),
        "over C": lambda: taupath.regularization_path(X, LABEL, C_max=2.0),
        "kernel": lambda: taupath.quantile_path(X, LABEL, kernel="rbf"),
        "approximate": lambda: taupath.quantile_path(X, LABEL, method="approximate"),
        "simplified": lambda: taupath.quantile_path(X, LABEL).simplify(0.1),
        "constant": lambda: taupath.quantile_regression_path(
            X, np.full(12, 5.0), intercept="free", kernel="rbf"
        ),
    }
)
# Methods that not all paths have, and the paths that have them.
_EXACT = {"classification", "regression", "over C", "kernel"}
LEAVING_OUT = {
    "leave_one_out": _EXACT,
    "without": _EXACT,
    "with_rows": _EXACT,
    "loo_error": _EXACT - {"regression"},
    "loo_cost": _EXACT - {"regression", "over C"},
}
ESTIMATORS = Lazily(
    {
        "QuantileSVC": lambda: taupath.QuantileSVC().fit(X, LABEL),
        "QuantileSVR": lambda: taupath.QuantileSVR().fit(X, TARGET),
        "QuantileSVCCV": lambda: taupath.QuantileSVCCV(Cs=2, cv=2).fit(X, LABEL),
        "at one tau": lambda: taupath.QuantileSVC().fit(X, LABEL).at(0.5),
        "constant": lambda: taupath.QuantileSVR(kernel="rbf").fit(X, np.full(12, 5.0)),
    }
)
FUNCTIONS = {
    "quantile_path": (taupath.quantile_path, {"X": X, "y": LABEL}),
    "regularization_path": (taupath.regularization_path, {"X": X, "y": LABEL, "C_max": 1.0}),
    "quantile_regression_path": (taupath.quantile_regression_path, {"X": X, "y": TARGET}),
    "sparsity_path": (taupath.sparsity_path, {"X": X, "y": LABEL}),
    "fairness_path": (taupath.fairness_path, {"X": X, "y": LABEL, "group": np.arange(12) % 2}),
}


def methods(kind: type) -> list[str]:
    names = [name for name, _ in inspect.getmembers(kind, inspect.isfunction)]
    others = ("set_", "get_", "_")
    return [name for name in names if not name.startswith(others)]


@pytest.mark.parametrize("name", PATHS)
def test_methods_of_paths(name):
    path = PATHS[name]
    found = []
    for method in methods(taupath.SolutionPath):
        if method in ("attach", "save"):
            continue
        call = getattr(path, method)
        names = inspect.signature(call).parameters
        if method in LEAVING_OUT and name not in LEAVING_OUT[method]:
            continue
        y = TARGET if name == "regression" else LABEL
        given = {"X": X, "y": y, "tau": 0.5, "rows": [0]} if method != "certify" else {}
        given = {each: value for each, value in given.items() if each in names}
        if "taus" in names:
            del given["tau"]

            def with_one(X, tau, call=call):
                return call(X, tau)

            def with_many(X, taus, call=call):
                return call(X, taus=taus)

            found += complaints(with_one, given | {"tau": 0.5}, set())
            found += complaints(with_many, given | {"taus": [0.5]}, set())
            continue
        if method in ("coef", "n_nonzero") and path.data.kernel is not None:
            continue
        right_y = {"all negative"} if name == "regression" else set()
        found += [f"{method}: {each}" for each in complaints(call, given, right_y)]
    # both X and y are needed, and a path with data needs neither
    found = [each for each in found if not each.startswith(("certify: y", "certify: X"))]
    assert found == []


@pytest.mark.parametrize("name", ESTIMATORS)
def test_methods_of_estimators(name):
    estimator = ESTIMATORS[name]
    labels = TARGET if isinstance(estimator, taupath.QuantileSVR) else LABEL
    found = []
    for method in methods(type(estimator)):
        if method in ("save", "predict_log_proba", "operate") or (name, method) == (
            "at one tau",
            "fit",
        ):
            continue
        if method == "n_nonzero" and estimator.kernel != "linear":
            continue
        call = getattr(estimator, method)
        if method == "fit":

            def call(X, y, sample_weight=None):
                return clone(estimator).fit(X, y, sample_weight)

        names = inspect.signature(call).parameters
        given = {"X": X, "y": labels, "tau": 0.5, "tol": 0.1, "coverage": 0.5}
        if method == "cdf":
            given["y"] = 0.5
        required = [each for each, one in names.items() if one.default is inspect.Parameter.empty]
        given = {each: given[each] for each in required}
        right = RIGHT_LEVELS if method == "cdf" else RIGHT["y"]
        if method == "fit" and labels is LABEL:
            right = set()
        for one, other in (("cost_fp", "cost_fn"), ("cost_fn", "cost_fp")):
            if one in names:  # each needs the other
                rest = given | {other: 1.0}

                def at_cost(cost, call=call, one=one, rest=rest):
                    return call(**rest, **{one: cost})

                some = (complaint(at_cost, one, what, RIGHT[one]) for what in BAD)
                found += [f"{method}: {each}" for each in some if each is not None]
        wrong = complaints(call, given, right)
        found += [f"{method}: {each}" for each in wrong if not each.startswith("cost_f")]
    assert found == []


@pytest.mark.parametrize("promise", [{"max_fpr": 0.4}, {"abstain": 0.1}])
def test_operating_points(promise):
    model, new = ESTIMATORS["QuantileSVC"], X + 0.1
    names = inspect.signature(taupath.operate).parameters

    def operate(**given: Any) -> Any:
        return taupath.operate(model, **given)

    asked = [one for each, one in names.items() if each != "model"]
    if "abstain" not in promise:  # which the costs go with
        asked = [one for one in asked if not one.name.startswith("cost_")]
    operate.__signature__ = inspect.Signature(asked)
    given = {"X": new, "y": LABEL, "delta": 0.3, **promise}
    assert operate(**given).guaranteed
    assert list(complaints(operate, given, set())) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    call, given = FUNCTIONS[name]
    right = RIGHT["y"] if name == "quantile_regression_path" else set()
    plain = {n: p for n, p in inspect.signature(call).parameters.items() if n not in KERNELS_OWN}

    def linear(**given: Any) -> Any:
        return call(**given)

    linear.__signature__ = inspect.Signature(list(plain.values()))
    own = [p for n, p in inspect.signature(call).parameters.items() if n in KERNELS_OWN]

    def poly(**given: Any) -> Any:
        return call(**given, kernel="poly")

    poly.__signature__ = inspect.Signature(own)
    assert [*complaints(linear, given, right), *complaints(poly, given, right)] == []


KERNELS_OWN = ("gamma", "degree", "coef0", "cache_size")


@pytest.mark.parametrize("kind", ["QuantileSVC", "QuantileSVR", "QuantileSVCCV"])
def test_parameters_of_estimators(kind):
    make = getattr(taupath, kind)
    labels = TARGET if kind == "QuantileSVR" else LABEL
    few = {"Cs": 2, "cv": 2} if kind == "QuantileSVCCV" else {}

    def fit(**given: Any) -> Any:
        own = {"kernel": "poly"} if set(given) & set(KERNELS_OWN) else {}
        return make(**{**few, **own, **given}).fit(X, labels)

    parameters = inspect.signature(make).parameters.items()
    if few:  # the others are those of QuantileSVC, and take longer here
        parameters = [each for each in parameters if each[0] in ("Cs", "cv", "scoring")]
    fit.__signature__ = inspect.Signature([parameter for _, parameter in parameters])
    assert list(complaints(fit, {}, set())) == []
