"""Two threads on one path: the same path, and nobody waits for ever."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, make_classification

import taupath as tp
from taupath.engine import two_threads as together
from taupath.engine.solver import Guess
from taupath.engine.two_threads import Meeting, Stopped, walk_together

pytestmark = pytest.mark.core


def two_classes(n, share, seed=1, d=8):
    return make_classification(n, d, weights=[1.0 - share], flip_y=0.1, random_state=seed)


def same_solutions(path, other, values=21):
    assert other.tau_range == path.tau_range
    for tau in np.linspace(*path.tau_range, values):
        np.testing.assert_allclose(other.coef(tau), path.coef(tau), atol=1e-7)
    assert other.certify(400).holds()


@pytest.mark.parametrize("share", [0.5, 0.2, 0.8])
@pytest.mark.parametrize("n", [300, 2500])
def test_two_threads_find_the_path_of_one(n, share):
    X, y = two_classes(n, share)
    path = tp.quantile_path(X, y, C=0.1)
    other = tp.quantile_path(X, y, C=0.1, n_jobs=2)
    assert len(other.solutions.pieces) > 1
    same_solutions(path, other)
    # the kinks are the same, up to ties; and there is one where two walks meet
    assert abs(other.n_kinks - path.n_kinks) <= 12


def test_wherever_two_threads_meet_their_kinks_are_those_of_one():
    X, y = two_classes(2500, 0.2)
    path = tp.quantile_path(X, y, C=0.1)
    for _ in range(10):  # it depends on the day
        other = tp.quantile_path(X, y, C=0.1, n_jobs=2)
        ends = [(float(s.record.begin), float(s.record.end)) for s in other.solutions.pieces]
        assert all(begin < end for begin, end in ends)
        assert (np.diff(other.taus) > 0.0).all()
        assert abs(other.n_kinks - path.n_kinks) <= 12


@pytest.mark.parametrize("walked", [(0.2, 0.7), (0.3, 0.9), (0.25, 0.75)])
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_parts_of_a_path_have_their_ends(walked, share):
    X, y = two_classes(2200, share)
    path = tp.quantile_path(X, y, C=0.05, tau_range=walked)
    other = tp.quantile_path(X, y, C=0.05, tau_range=walked, n_jobs=2)
    assert other.tau_range == walked
    same_solutions(path, other, 5)


def test_seams_have_the_solutions_of_both_sides():
    X, y = two_classes(2500, 0.2)
    path = tp.quantile_path(X, y, C=0.1, n_jobs=2)
    seams = [float(stretch.kinks[-1]) for stretch in path.solutions.pieces[:-1]]
    assert len(seams) >= 1
    for seam in seams:
        for tau in (np.nextafter(seam, 0.0), seam, np.nextafter(seam, 1.0)):
            assert path.duality_gap(float(tau)) < 1e-9
            assert path.kkt_violation(float(tau)) < 1e-7
        before, after = path.coef(np.nextafter(seam, 0.0)), path.coef(seam)
        np.testing.assert_allclose(before, after, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_kernels_and_sparse_rows_can_be_shared(kernel):
    X, y = two_classes(200, 0.4)
    K = X @ X.T if kernel == "precomputed" else X
    path = tp.quantile_path(K, y, C=0.1, kernel=kernel)
    other = tp.quantile_path(K, y, C=0.1, kernel=kernel, n_jobs=2)
    for tau in np.linspace(0.0, 1.0, 11):
        np.testing.assert_allclose(
            other.decision_function(K, tau), path.decision_function(K, tau), atol=1e-7
        )
    for matrix in (sp.csr_array(np.where(X > 0.5, X, 0.0)), sp.csr_array((X > 0.5) * 1.0)):
        one = tp.quantile_path(matrix, y, C=0.1)
        same_solutions(one, tp.quantile_path(matrix, y, C=0.1, n_jobs=-1), 7)


def test_rows_of_a_kernel_that_are_computed_when_needed_have_one_thread():
    X, y = two_classes(300, 0.4)
    path = tp.quantile_path(X, y, C=0.1, kernel="rbf", cache_size=0.3, n_jobs=2)
    assert len(path.solutions.pieces) == 1


def test_quantile_regression_walks_both_halves_at_a_time():
    X, y = load_diabetes(return_X_y=True)
    path = tp.quantile_regression_path(X, y, C=10.0)
    other = tp.quantile_regression_path(X, y, C=10.0, n_jobs=2)
    assert np.array_equal(other.taus, path.taus)
    for tau in (0.0, 0.3, 0.5, 0.9):
        assert np.array_equal(other.alpha(tau), path.alpha(tau))


def test_the_estimator_hands_n_jobs_on():
    X, y = two_classes(300, 0.4)
    assert len(tp.QuantileSVC(n_jobs=2).fit(X, y).path_.solutions.pieces) == 2
    assert len(tp.QuantileSVC(n_jobs=1).fit(X, y).path_.solutions.pieces) == 1


def test_a_path_of_two_threads_is_stored(tmp_path):
    for share in (0.2, 0.5, 0.8):
        X, y = two_classes(2100, share)
        path = tp.quantile_path(X, y, C=0.01, n_jobs=2)
        path.save(tmp_path / "path.tau")
        assert np.array_equal(tp.load(tmp_path / "path.tau").taus, path.taus)


def test_progress_hears_of_both_and_ends_at_most_at_one():
    X, y = two_classes(2500, 0.5)
    heard = []
    tp.quantile_path(X, y, C=0.1, n_jobs=2, progress=lambda *how: heard.append(how))
    assert heard
    assert all(0.0 <= fraction <= 1.0 for fraction, _ in heard)
    assert heard[-1][1] > 0


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two", True])
def test_jobs_that_are_no_number_are_refused(n_jobs):
    X, y = two_classes(30, 0.5)
    with pytest.raises(ValueError, match="n_jobs"):
        tp.quantile_path(X, y, n_jobs=n_jobs)


def test_an_error_in_one_thread_stops_the_other():
    steps = []

    def fails(meeting):
        raise RuntimeError("no way through")

    def walks(meeting):
        for k in range(10**9):
            steps.append(k)
            meeting.reached(0.1)

    for pair in ((walks, fails), (fails, walks)):
        with pytest.raises(RuntimeError, match="no way through"):
            walk_together(pair)


def test_an_interrupt_ends_both():
    X, y = two_classes(4000, 0.5)

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tp.quantile_path(X, y, C=1.0, n_jobs=2, progress=interrupted)


def test_a_bad_guess_of_the_middle_does_no_harm(monkeypatch):
    X, y = two_classes(2100, 0.5)
    path = tp.quantile_path(X, y, C=0.01)
    right = together.walk_in_two

    def misled(*arguments):
        *others, guess_at = arguments

        def worse(t):
            status, theta = guess_at(t)
            rng = np.random.default_rng(0)
            return Guess(rng.permutation(status), theta)

        return right(*others, worse)

    monkeypatch.setattr("taupath.fitting.walks.walk_in_two", misled)
    same_solutions(path, tp.quantile_path(X, y, C=0.01, n_jobs=2), 5)


def test_walks_meet_where_one_has_been():
    one, two = Meeting.pair()
    assert not one.reached(0.3)
    assert not two.reached(0.5)
    assert one.reached(0.5)
    assert not two.passing(1.0)
    two.stop = True
    for told in (two.passing, two.reached):
        with pytest.raises(Stopped):
            told(1.0)
