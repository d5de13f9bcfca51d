"""The paper's three data sets: those that are available, and where to get the others."""

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from taupath.datasets import (
    ENVIRONMENT_VARIABLE,
    PAPER_NAMES,
    DataNotFound,
    PaperData,
    PathLike,
    load_paper,
    split_diabetes,
)

# Folder and files below the data folder, and where they come from.
SOURCES = {
    "diabetes": (
        "diabetes/diabetes_scale.svm: the UCI Pima diabetes data, scaled to [-1, 1], from the "
        "LIBSVM data collection (or OpenML, data set diabetes, which is tried where the file "
        "is missing)"
    ),
    "spam": (
        "spam/task_a_u00_eval_lab.tf, ..u01.., ..u02..: the labelled evaluation inboxes of task A "
        "of the ECML/PKDD 2006 discovery challenge, term counts in LIBSVM format"
    ),
    "splice": (
        "splice/C_elegans_acc_100000.fasta.bz2: the worm acceptor sites of Sonnenburg and Rätsch's "
        "splice data, label in the header line of each site"
    ),
}

# Seconds to wait for OpenML: enough for a file of 37 kB.
OPENML_SECONDS = 20.0


def load_available(
    data: PathLike | None, say: Callable[[str], None], wanted: tuple[str, ...] = PAPER_NAMES
) -> list[PaperData]:
    """Return the available ones of the paper's data sets, and say which are not.

    `data` is the folder; None for the one named by ``TAUPATH_DATA``. `say` gets a line for each set
    that is missing. If none is available, a `DataNotFound` says where to get them.
    """
    found, missing = [], []
    for name in wanted:
        try:
            found.append(load_paper(name, data))
        except DataNotFound:
            from_openml = diabetes_from_openml(say) if name == "diabetes" else None
            if from_openml is None:
                missing.append(name)
            else:
                found.append(from_openml)
    if not found:
        raise DataNotFound(
            f"none of the paper's data sets is there: name their folder by --data or "
            f"{ENVIRONMENT_VARIABLE}\n{where_to_get(missing)}"
        )
    if missing:
        say(f"left out: {', '.join(missing)}. To have all sets, put into the data folder")
        say(where_to_get(missing))
        say("")
    return found


def where_to_get(names: list[str]) -> str:
    """Return a line about the source of each of these sets."""
    return "\n".join(f"  {SOURCES[name]}" for name in names)


def diabetes_from_openml(
    say: Callable[[str], None], seconds: float = OPENML_SECONDS
) -> PaperData | None:
    """Return the diabetes data by scikit-learn's OpenML loader; None if that fails.

    The loader has no time limit of its own, so it runs in a thread, which is abandoned after
    `seconds`.
    """
    fetched: list[Any] = []
    thread = threading.Thread(target=_fetch_into, args=(fetched,), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about retries: the outcome is reported below
        thread.start()
        thread.join(seconds)
    if not fetched:
        say(f"diabetes: OpenML did not answer within {seconds:g} seconds")
        return None
    if isinstance(fetched[0], Exception):
        say(f"diabetes: not from OpenML either ({type(fetched[0]).__name__}: {fetched[0]})")
        return None
    say("diabetes: from OpenML, scaled to [-1, 1]")
    raw, label = fetched[0]
    low, high = raw.min(axis=0), raw.max(axis=0)
    X = 2.0 * (raw - low) / (high - low) - 1.0
    return split_diabetes(X, np.where(label == "tested_negative", 1, -1))


def _fetch_into(fetched: list[Any]) -> None:
    """Append the raw features and labels to the list, or the exception that was raised."""
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(
            "diabetes", version=1, as_frame=False, parser="liac-arff", n_retries=1, delay=0.1
        )
        fetched.append((np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target)))
    except Exception as error:  # whatever it is, there are no data
        fetched.append(error)
