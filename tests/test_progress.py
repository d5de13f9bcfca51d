"""Progress: labelled, with the time left, on terminals and in notebooks, and gone in the end."""

import argparse
import io
import re
import sys
import threading
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import taupath as tp
from taupath import cli, progress
from taupath.commands.printing import bar
from taupath.engine import work
from taupath.estimators import fit_time, parallel
from taupath.progress import Display, Share, duration, share_of, telling


class Terminal(io.StringIO):
    """Remembers when something was written, for those who wait for it."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        done = super().write(text)
        self.written.set()
        return done


class Notebook(Terminal):
    """What ipykernel puts in place of standard error: no terminal."""

    __module__ = "ipykernel.iostream"

    def isatty(self):
        return False


class Clock:
    """Time that passes when it is told to."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(progress, "monotonic", lambda: self.now)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.001)


@pytest.fixture
def terminal(monkeypatch):
    """A function that puts a terminal in place of standard error: not before a test has begun."""

    def put() -> Terminal:
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return put


def shown(stream, monkeypatch, make=lambda: Display("training"), calls=((0.5, 120),)):
    """Return what was written by a display that has been told of calls."""
    monkeypatch.setattr(sys, "stderr", stream)
    with make() as display:
        for call in calls:
            display(*call)
        if display.shown:
            stream.written.clear()
            assert stream.written.wait(600.0)  # only against hanging
    return stream.getvalue()


# --- what is shown, and where ---------------------------------------------------------------------


@pytest.mark.parametrize("stream", [Terminal, Notebook])
def test_people_are_told_how_far_it_is_and_left_with_a_clean_line(impatient, monkeypatch, stream):
    said = shown(stream(), monkeypatch, lambda: Display("training", "kinks"))
    assert " 50 %  120 kinks  0 s" in said
    line = said.rsplit("\r", 2)
    assert line[1].strip() == "" and line[2] == ""


def test_without_a_call_the_elapsed_time_is_shown(impatient, monkeypatch):
    said = shown(Terminal(), monkeypatch, calls=())
    assert "training … 0 s" in said
    assert "%" not in said


def test_nothing_is_shown_in_a_pipe_or_for_machines(impatient, monkeypatch):
    assert shown(io.StringIO(), monkeypatch) == ""
    quiet = partial(bar, "training", argparse.Namespace(json=True))
    assert shown(Terminal(), monkeypatch, quiet) == ""
    monkeypatch.setattr(sys, "stderr", None)  # as in a program without a console
    assert not Display("training").shown


def test_what_is_quick_is_not_shown(monkeypatch, terminal):
    monkeypatch.setattr(progress, "PATIENCE", 600.0)
    stream = terminal()
    with Display("training") as display:
        display(0.5)
    assert display.shown and stream.getvalue() == ""


def test_a_line_that_stays_does_not_end_up_in_the_bar(monkeypatch, terminal):
    monkeypatch.setattr(progress, "PATIENCE", 600.0)
    stream = terminal()
    with Display("training") as display:
        display(0.5)
        display._write(display.text())
        display.say("Something to know.")
    assert re.search(r"50 %  0 s\r +\rSomething to know\.\n$", stream.getvalue())


def test_kinks_and_the_place_on_the_path_are_named(monkeypatch):
    clock = Clock(monkeypatch)
    with Display("training", quiet=True) as display:
        telling(display, "kinks", "τ")(0.4, 1234, 0.3678)
        clock.now += 1.0
        assert display.text().endswith(" 40 %  1234 kinks  τ 0.37  1 s")
        telling(display, "nodes", "C")(0.4, 12, None)
        assert display.text().endswith(" 40 %  12 nodes  1 s")


def test_shares_of_shares_add_up():
    heard = []

    def whole(fraction, n_done):
        heard.append((fraction, n_done))

    part = share_of(Share(whole, 0.5, 0.5), 0.2, 0.4)
    part(0.5, 3)
    telling(part, "kinks", "τ")(1.0, 4, 0.5)
    assert heard == [pytest.approx((0.7, 3)), pytest.approx((0.8, 4))]
    assert share_of(None, 0.0, 1.0) is None and telling(None, "kinks", "τ") is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.03, "30 ms"), (0.31, "0.3 s"), (12.2, "12 s"), (950, "16 min"), (7500, "2 h 5 min")],
)
def test_times_are_written_as_people_say_them(seconds, said):
    assert duration(seconds) == said


# --- the time left --------------------------------------------------------------------------------


def test_the_time_left_is_told_after_some_experience(monkeypatch):
    clock = Clock(monkeypatch)
    with Display("training", quiet=True) as display:
        clock.now += 30.0  # the start, of which nothing is heard
        display(0.0)
        clock.now += progress.EXPERIENCE / 2.0
        display(0.1)
        assert "left" not in display.text()
        clock.now += 10.0 - progress.EXPERIENCE / 2.0
        display(0.2)
        assert display.text().endswith("40 s, about 40 s left")
        clock.now += 15.0  # nothing new: time goes by all the same
        assert display.text().endswith("55 s, about 25 s left")
        clock.now += 60.0
        assert "left" not in display.text()
        display(1.0)
        assert "left" not in display.text()


def gaussians(n):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    return rng.normal(size=(n, 8)) + 0.3 * y[:, None], y


def separable(n=400):
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], n // 2)
    return rng.normal(size=(n, 60)) + 0.5 * y[:, None], y


def rare(n=3000):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.05, 1, -1)
    return rng.normal(size=(n, 10)) + 0.5 * y[:, None], y


def mostly_positive(data):
    return data[0], -data[1]


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


WALKS = {
    "noisy": (lambda: gaussians(2000), {"C": 0.1}),
    "separable": (separable, {"C": 100.0}),
    "rare": (rare, {"C": 1.0}),
    "free intercept": (rare, {"C": 1.0, "intercept": "free"}),
    "mostly positive": (lambda: mostly_positive(rare()), {"C": 1.0}),
    "noisy, mostly positive": (lambda: mostly_positive(gaussians(2000)), {"C": 0.1}),
    "cancer": (cancer, {"C": 1.0}),  # most are positive
    "RBF": (cancer, {"C": 1.0, "kernel": "rbf"}),
}


@pytest.mark.parametrize("case", WALKS)
def test_the_share_of_kinks_is_known_within_a_factor_of_two(case, monkeypatch):
    """In kinks, which are the same on every machine: from some of them on, up to the end."""
    (X, y), arguments = WALKS[case][0](), WALKS[case][1]
    check_shares(X, y, arguments, monkeypatch)


PAPER = {
    "diabetes": ("diabetes", 668, {}),
    "spam": ("spam", 2500, {}),
    "splice": ("splice", 3000, {}),
    "splice, RBF": ("splice", 1000, {"lam": None, "C": 1.0, "kernel": "rbf"}),
}
LARGE = [pytest.param(name, marks=pytest.mark.slow) for name in PAPER if name != "diabetes"]


@pytest.mark.parametrize("case", ["diabetes", *LARGE])
def test_the_share_of_kinks_is_known_on_the_papers_data(case, paper_data, monkeypatch):
    name, n, changed = PAPER[case]
    data = paper_data(name)
    arguments = {"lam": data.lam, **changed}
    check_shares(data.X_train[:n], data.y_train[:n], arguments, monkeypatch)


def check_shares(X, y, arguments, monkeypatch):
    monkeypatch.setattr("taupath.engine.solver.REPORT_PAUSE", 0.0)  # as many reports as possible
    calls = []
    path = tp.quantile_path(X, y, progress=lambda *call: calls.append(call), **arguments)
    fractions, kinks = np.array(calls).T
    assert np.all(np.diff(fractions) >= 0.0) and fractions[-1] == 1.0
    share = kinks / path.n_kinks
    most_close = np.mean(np.asarray(y) == np.max(y)) > 0.5  # boxes of positive samples do
    power = work.QUICKENING if most_close else work.SLOWING
    looked_at = (share > (0.25 if most_close else 0.15)) & (share < 1.0)
    assert looked_at.sum() >= 5
    expected = fractions[looked_at] ** (1.0 / power)
    ratio = share[looked_at] / expected
    assert ratio.min() >= 0.5 and ratio.max() <= 2.0


def test_share_of_kinks_is_known_along_C():
    X, y = cancer()
    calls = []
    path = tp.regularization_path(X, y, C_max=100.0, progress=lambda *call: calls.append(call))
    fractions, kinks = np.array(calls).T
    assert np.all(np.diff(fractions) >= 0.0) and fractions[-1] == 1.0
    middle = int(np.searchsorted(kinks, 0.6 * path.n_kinks))
    assert 0.2 <= fractions[middle] <= 0.9


@pytest.mark.parametrize("job", ["classes", "quantiles"])
def test_of_two_threads_progress_never_falls(job):
    calls = []
    listen = {"n_jobs": 2, "progress": lambda *call: calls.append(call)}
    if job == "classes":
        tp.quantile_path(*gaussians(3000), C=0.1, **listen)
    else:
        X, y = load_diabetes(return_X_y=True)
        tp.quantile_regression_path(X, y, C=10.0, **listen)
    fractions = np.array([fraction for fraction, _ in calls])
    assert np.all(np.diff(fractions) >= 0.0) and np.all((fractions >= 0.0) & (fractions <= 1.0))


# --- estimators -----------------------------------------------------------------------------------


class Listener(Display):
    """A display that is not shown, and remembers what it heard."""

    heard: list

    def __init__(self, what, unit="", quiet=False):
        super().__init__(what, unit, quiet=True)
        type(self).heard = []

    def __call__(self, fraction, n_done=0, at=None, unit=None, parameter=""):
        self.heard.append((fraction, n_done, at, unit, parameter))
        super().__call__(fraction, n_done, at, unit, parameter)


@pytest.fixture
def heard(monkeypatch):
    monkeypatch.setattr("taupath.estimators.base.Display", Listener)
    Listener.heard = []
    return lambda: Listener.heard


def two_classes():
    X, y = load_iris(return_X_y=True)
    return X[50:], y[50:]


FITS = {
    "two classes": (lambda: tp.QuantileSVC(verbose=1), two_classes, "kinks"),
    "approximate": (
        lambda: tp.QuantileSVC(verbose=1, method="approximate"),
        two_classes,
        "nodes",
    ),
    "three classes": (
        lambda: tp.QuantileSVC(verbose=1),
        lambda: load_iris(return_X_y=True),
        "kinks",
    ),
    "cross-validation": (
        lambda: tp.QuantileSVCCV(3, cv=2, method="exact", verbose=1),
        two_classes,
        "kinks",
    ),
    "quantiles": (lambda: tp.QuantileSVR(verbose=True), two_classes, "kinks"),
    "conformal": (lambda: tp.QuantileSVR(conformal=2, verbose=1), two_classes, "kinks"),
}


@pytest.mark.parametrize("case", FITS)
def test_verbose_estimators_report_all_of_their_work(case, heard):
    make, data, unit = FITS[case]
    make().fit(*data())
    calls = heard()
    fractions = np.array([call[0] for call in calls])
    assert np.all(np.diff(fractions) >= -1e-12) and fractions[-1] == pytest.approx(1.0)
    assert {call[3] for call in calls} == {unit}
    assert {call[4] for call in calls} == {"τ"} and all(0.0 <= call[2] <= 1.0 for call in calls)


def test_two_threads_are_at_no_single_place(heard):
    tp.QuantileSVC(C=0.1, n_jobs=2, verbose=1).fit(*gaussians(3000))
    assert {call[2] for call in heard()} <= {None}


@pytest.mark.parametrize(
    "model",
    [tp.QuantileSVC(n_jobs=2, verbose=1), tp.QuantileSVCCV(3, cv=2, n_jobs=2, verbose=1)],
    ids=lambda model: type(model).__name__,
)
def test_work_in_other_processes_is_counted_in_paths(model, heard):
    model.fit(*load_iris(return_X_y=True))
    calls = [call for call in heard() if call[3] == "paths"]
    assert calls and calls[-1][1] in (3, 6)
    fractions = [call[0] for call in heard()]
    assert fractions == sorted(fractions) and fractions[-1] == pytest.approx(1.0)


def test_estimators_are_silent_by_default(heard):
    tp.QuantileSVC().fit(*two_classes())
    assert heard() == []


def test_nothing_is_written_in_a_pipe(impatient, capsys):
    tp.QuantileSVC(verbose=1).fit(*two_classes())
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("verbose", ["yes", -1, None])
def test_verbose_that_makes_no_sense_is_refused(verbose):
    with pytest.raises(ValueError, match="verbose must be 0 or 1"):
        tp.QuantileSVC(verbose=verbose).fit(*two_classes())


def test_verbose_is_not_part_of_a_stored_model(tmp_path):
    model = tp.QuantileSVC(verbose=1, n_jobs=2).fit(*two_classes())
    model.save(tmp_path / "model.tau")
    again = tp.load(tmp_path / "model.tau")
    assert again.verbose == 0 and again.n_jobs is None


def test_a_display_stays_in_its_process():
    """Its lock cannot be pickled: one path needs no other process, several are only counted."""
    with Display("training", quiet=True) as display:
        jobs = [{"X": np.eye(4), "y": [0, 1, 0, 1]}]
        (path,) = parallel.run_all(tp.quantile_path, jobs, 2, display)
        assert path.n_kinks and display._state[0] == 1.0
        assert len(parallel.run_all(tp.quantile_path, 2 * jobs, 2, display)) == 2
        assert display._state == (1.0, "2 paths", "")


def test_the_command_shows_progress_of_a_fit_with_two_threads(tmp_path, terminal, capsys):
    X, y = two_classes()
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="a,b,c,d,kind", comments="")
    stream = terminal()
    model = str(tmp_path / "m.tau")
    assert cli.main(["fit", str(tmp_path / "t.csv"), "-o", model, "--n-jobs", "2"]) == 0
    assert "exact path" in capsys.readouterr().out and stream.isatty()


# --- advice before a long fit ---------------------------------------------------------------------


@pytest.fixture
def eager(monkeypatch):
    """Few samples are many, and any fit is long."""
    monkeypatch.setattr(fit_time, "MANY_SAMPLES", 400)
    monkeypatch.setattr(fit_time, "FEW", 50)
    monkeypatch.setattr(fit_time, "MORE", 100)
    monkeypatch.setattr(fit_time, "LONG", 0.0)
    monkeypatch.setattr(fit_time, "WORTH", 0.0)
    monkeypatch.setattr(fit_time, "TRIAL", np.inf)
    monkeypatch.setattr(progress, "PATIENCE", 600.0)


@pytest.mark.parametrize("model", [tp.QuantileSVC(verbose=1), tp.QuantileSVR(verbose=1)])
def test_before_a_long_exact_fit_the_approximate_one_is_suggested(model, eager, terminal):
    stream = terminal()
    model.fit(*gaussians(500))
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("The exact path will take about ")
    assert "; method approximate, with duality gaps of at most 0.001, about " in line


@pytest.mark.parametrize(
    "model",
    [
        tp.QuantileSVC(),
        tp.QuantileSVC(verbose=1, kernel="rbf"),
        tp.QuantileSVC(verbose=1, method="approximate"),
    ],
)
def test_where_it_does_not_apply_nothing_is_suggested(model, eager, terminal):
    stream = terminal()
    model.fit(*gaussians(500))
    assert stream.getvalue() == ""


def test_small_data_are_fitted_without_trials(eager, terminal, monkeypatch):
    monkeypatch.setattr(fit_time, "forecast", lambda *_: pytest.fail("a trial"))
    stream = terminal()
    tp.QuantileSVC(verbose=1).fit(*gaussians(300))
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("few", "more", "expected"), [(1.0, 2.0, 20.0), (1.0, 1.0, 10.0), (1.0, 100.0, 3162.3)]
)
def test_times_are_extrapolated_with_the_growth_seen(monkeypatch, few, more, expected):
    monkeypatch.setattr(fit_time, "LONG", 0.0)
    seconds = {fit_time.FEW: few, fit_time.MORE: more}
    monkeypatch.setattr(
        fit_time,
        "_seconds",
        lambda follow, job, m, method, limit: seconds[m] if method == "exact" else 0.5,
    )
    n = 10 * fit_time.MORE
    found = fit_time.forecast(None, {"X": np.empty((n, 1))})
    assert found.exact == pytest.approx(expected, rel=1e-3)
    assert found.approximate == pytest.approx(2.5)


def test_a_trial_that_takes_too_long_is_given_up(eager, monkeypatch):
    monkeypatch.setattr(fit_time, "TRIAL", 0.0)
    monkeypatch.setattr(fit_time, "perf_counter", iter(range(0, 10**6, 1000)).__next__)
    X, y = gaussians(500)
    job = {"X": X, "y": y, "sample_weight": np.ones(500), "C": 1.0, "kernel": "linear"}
    assert fit_time.forecast(tp.quantile_path, {**job, "tol": 1e-3}) is None
