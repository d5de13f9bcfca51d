"""Sign changes of f_τ(x): the search against a look at every step of the path."""

import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

import taupath
from platforms import needs_extended_sums
from taupath.datasets import load_classification
from taupath.paths import crossings, training_data
from taupath.paths.path import SolutionPath
from taupath.paths.walked import WalkedPiece

pytestmark = pytest.mark.core


def steps(path, X, level):
    """Return both ends of every step between kinks, and the values just within them."""
    inside = 1e-9 * np.minimum(np.diff(path.taus), 1e-3)
    ends = np.column_stack((path.taus[:-1], path.taus[1:]))
    near = np.column_stack((path.taus[:-1] + inside, path.taus[1:] - inside))
    values = path.decision_function(X, near.ravel()) - np.reshape(level, (-1, 1))
    return ends, values.reshape(len(values), -1, 2)


def by_every_step(path, X, level):
    ends, values = steps(path, X, level)
    length = np.zeros(len(values))
    first = np.full(len(values), path.taus[-1])
    last = np.full(len(values), path.taus[0])
    for i, row in enumerate(values):
        for (begin, end), (before, after) in zip(ends, row, strict=True):
            crossing = begin + (end - begin) * abs(before) / max(abs(before) + abs(after), 1e-300)
            above = (begin, end)
            if before < 0.0 and after < 0.0:
                above = (begin, begin)
            elif before < 0.0:
                above = (crossing, end)
            elif after < 0.0:
                above = (begin, crossing)
            length[i] += above[1] - above[0]
            if min(before, after) < 0.0:
                first[i] = min(first[i], begin if before < 0.0 else crossing)
            if above[1] > above[0]:
                last[i] = max(last[i], above[1])
    return length, first, last


def assert_found(path, X, level=0.0):
    found = path.crossings(X, level)
    expected = by_every_step(path, X, np.broadcast_to(level, X.shape[0]))
    for got, wanted in zip((found.length, found.first, found.last), expected, strict=True):
        assert_allclose(got, wanted, rtol=0, atol=1e-7 * (path.taus[-1] - path.taus[0]))
    begin = path.tau_range[0]
    assert np.all(found.first - begin <= found.length + 1e-12)
    assert np.all(found.length <= found.last - begin + 1e-12)
    return found


@st.composite
def paths(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(4, 60)), draw(st.integers(1, 4) | st.just(70))
    X = rng.normal(size=(n, d))
    if draw(st.booleans()):
        X = np.round(X)
    assume(np.any(X))  # else f is zero all along, give or take its last digit
    new = 2.0 * rng.normal(size=(8, d))
    noisy = X[:, 0] + rng.normal(size=n)
    labels = np.where(noisy > 0.0, 1, -1)
    labels[:2] = [1, -1]
    given = {"intercept": draw(st.sampled_from(["augmented", "free", "none"]))}
    kernel = draw(st.sampled_from(["linear", "rbf", "poly", "precomputed"]))
    given["kernel"] = kernel
    if kernel == "poly":
        given |= {"degree": 2, "coef0": 1.0}
    if kernel == "precomputed":
        X, new = rbf_kernel(X), rbf_kernel(new, X)
    C = draw(st.sampled_from([0.02, 1.0, 50.0]))
    job = draw(st.sampled_from(["tau", "C", "regression"]))
    if job == "tau":
        path = taupath.quantile_path(X, labels, C=C, **given)
    elif job == "C":
        path = taupath.regularization_path(X, labels, C_max=C, **given)
    else:
        path = taupath.quantile_regression_path(X, noisy, C=C, **given)
    # (other paths end at f = 0, which is not just above or just below)
    level = 0.0 if job == "tau" else rng.normal(size=8)
    return path, new, level


@given(paths())
@settings(max_examples=60)
def test_the_search_finds_what_a_look_at_every_step_finds(case):
    assert_found(*case)


@given(paths(), st.booleans())
@settings(max_examples=60)
def test_all_changes_of_sign_are_found(case, kept):
    path, new, _ = case
    if not kept:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(crossings, "KEPT", 0)
            assert path._tracks.edges[-1] == len(path._tracks.taus) - 1
    found = path.changes(new)
    taus, values = path.values_at_nodes(new)
    above = values >= 0.0
    assert_array_equal(found.begin, above[:, 0])
    who, step = np.nonzero(above[:, 1:] != above[:, :-1])
    assert_array_equal(found.who, who)
    assert_array_equal(found.change, np.where(above[who, step], -1, 1))
    before, after = values[who, step], values[who, step + 1]
    zero = taus[step] + np.diff(taus)[step] * before / (before - after)
    assert_allclose(found.when, zero, rtol=0, atol=1e-12 * taus[-1])


@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_wide_samples_are_swept_once_for_everything(kind, intercept, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 400)) * (rng.uniform(size=(60, 400)) < 0.05)
    X[:, 200:300] = 0.0  # features that nobody has in training
    y = np.where(X[:, 0] + X[:, 1:4].sum(axis=1) + 0.3 * rng.normal(size=60) > 0.0, 1, -1)
    new = rng.normal(size=(30, 400)) * (rng.uniform(size=(30, 400)) < 0.05)
    given, others = (X, new) if kind == "dense" else map(sparse.csr_array, (X, new))
    path = taupath.quantile_path(given, y, C=5.0, intercept=intercept)
    swept = []
    sweep = WalkedPiece.sweep
    monkeypatch.setattr(
        WalkedPiece,
        "sweep",
        lambda self, a, b, *rest: (swept.append(b - a), sweep(self, a, b, *rest))[1],
    )
    path.crossings(others)
    path.changes(others)
    taus, values = path.values_at_nodes(others)
    parts = list(path.coefficients_at_nodes())
    n_blocks = len(swept)
    assert sum(swept) <= len(taus) + n_blocks
    coef = np.concatenate([part for _, part in parts])
    for k in range(0, len(taus), 7):
        assert_allclose(coef[k], path.coef(taus[k]), rtol=0, atol=1e-9)
        direct = path.decision_function(others, taus[k])
        assert_allclose(values[:, k], direct, rtol=0, atol=1e-9)
    assert_found(path, new)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("d", [1, 3])
def test_a_kink_is_there_twice_only_where_a_free_intercept_may_jump(kernel, d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(80, d))
    y = X[:, 0] + rng.normal(size=80)
    path = taupath.quantile_regression_path(X, y, C=0.01, kernel=kernel, intercept="free")
    jumped = 0
    for piece in path.solutions.pieces:
        if not isinstance(piece, WalkedPiece):
            continue
        record = piece.record
        t = np.unique(record.t[(record.t > record.begin) & (record.t < record.end)])
        over = [np.searchsorted(record.t, t, side=side) for side in ("left", "right")]
        multiplier = np.empty((2, len(t)))
        for after, out in zip(over, multiplier, strict=True):
            w = np.empty((len(t), piece.data.rows.n_cols))
            piece._reader.replay.sweep(after, t, w, None, out)
        jump = np.abs(np.diff(multiplier, axis=0)[0]) > 1e-9 * np.ptp(y)
        twice = piece._may_jump(*over)
        assert not (jump & ~twice).any()
        jumped += int(jump.sum())
        assert twice.sum() <= jump.sum() + 2
        assert len(piece.nodes) == len(t) + twice.sum() + 2
    assert jumped > 3


@pytest.mark.parametrize("kept", [1e9, 8 * 3 * 40])
def test_arrays_that_a_path_hands_out_cannot_change_it(kept, monkeypatch):
    monkeypatch.setattr(crossings, "KEPT", kept)
    path = taupath.quantile_path(*blobs(), C=1.0)
    new = np.random.default_rng(1).normal(size=(9, 3))

    def found():
        return [path.crossings(new).length, path.values_at_nodes(new)[1]]

    before = found()
    handed_out = [path.taus, path.kept_nodes, path.values_at_nodes(new)[0]]
    handed_out += [path.coefficients_at_kept(), path.kept_functions(new).taus]
    handed_out += [array for block in path.coefficients_at_nodes() for array in block]
    for array in handed_out:
        with suppress(ValueError):  # read-only
            array[...] = 7.0
    for one, other in zip(found(), before, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("given", [{}, {"kernel": "rbf"}, {"intercept": "free"}])
@pytest.mark.parametrize("kept", [1000, 40])
def test_values_at_kept_nodes_and_between_are_those_of_the_path(given, kept, monkeypatch):
    width = 120 if given.get("kernel") else 3
    monkeypatch.setattr(crossings, "KEPT", 8 * width * kept)
    path = taupath.quantile_path(*blobs(), C=1.0, **given)
    new = np.random.default_rng(1).normal(size=(9, 3))
    nodes, functions = path.kept_nodes, path.kept_functions(new)
    assert len(nodes) == len(path._tracks.taus) if kept > 40 else len(nodes) == 40
    which = np.arange(3, len(nodes) - 3, 11)
    near = np.nextafter(nodes[which], 0.0)
    exact = path.decision_function(new, near)
    assert_allclose(functions.values(nodes=which), exact, rtol=0, atol=1e-8)
    assert_allclose(functions.values([4, 2], which), exact[[4, 2]], rtol=0, atol=1e-8)
    assert_allclose(functions.between(near), exact, rtol=0, atol=1e-8)
    if not given.get("kernel"):
        coef = np.array([path.coef(tau) for tau in near])
        assert_allclose(path.coefficients_at_kept(which), coef, rtol=0, atol=1e-8)
        some = path.coefficients_at_kept(which, np.array([2, 0]))
        assert_allclose(some, coef[:, [2, 0]], rtol=0, atol=1e-8)
    if kept > 40:
        taus = np.random.default_rng(2).uniform(size=20)
        exact = path.decision_function(new, taus)
        assert_allclose(functions.between(taus), exact, rtol=0, atol=1e-8)


def blobs(n=120):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3))
    return X, np.where(X @ [1.0, 1.0, 0.0] + rng.normal(size=n) > 0.0, 1, -1)


def test_few_values_are_looked_at():
    path = taupath.quantile_path(*blobs(400), C=1.0)
    new = np.random.default_rng(1).normal(size=(200, 3))
    path.crossings(new)
    assert path._tracks.table.n_values < 0.2 * 200 * path.n_kinks


@pytest.mark.parametrize("given", [{}, {"kernel": "rbf"}, {"intercept": "free"}])
def test_functions_that_are_not_kept_are_made_again(given, monkeypatch):
    path = taupath.quantile_path(*blobs(), C=1.0, **given)
    new = np.random.default_rng(1).normal(size=(20, 3))
    kept = path.crossings(new)
    del path._tracks
    monkeypatch.setattr(crossings, "KEPT", 8 * 10 * (120 if given.get("kernel") else 3))
    monkeypatch.setattr(crossings, "SWEPT_BYTES", 8 * 120 * 7)
    again = path.crossings(new)
    assert len(path._tracks.edges) == 10
    for name in ("length", "first", "last"):
        assert_allclose(getattr(again, name), getattr(kept, name), rtol=0, atol=1e-12)


@pytest.mark.parametrize("intercept", ["augmented", "free"])
def test_memory_stays_within_its_bound(intercept, monkeypatch):
    """However many nodes and features there are, and whatever is read."""
    rng = np.random.default_rng(3)
    X = sparse.csr_array(rng.random((80, 5000)) * (rng.random((80, 5000)) < 0.01))
    y = np.arange(80) % 2
    path = taupath.quantile_path(X, y, C=100.0, intercept=intercept)
    reads = [
        lambda path: path.crossings(X).length,
        lambda path: path.changes(X).when,
        lambda path: path.decide_each(X, np.linspace(0.01, 0.99, 80)),
        lambda path: path.values_at_nodes(X[:5])[1],
    ]
    monkeypatch.setattr(training_data, "MOST_BY_THETA", 0)
    function = 8 * 5000
    assert len(path.taus) * function > 3e6
    wanted = [read(SolutionPath(path.solutions)) for read in reads]
    monkeypatch.setattr(crossings, "KEPT", 20 * function)
    monkeypatch.setattr(crossings, "SWEPT_BYTES", 2 * function)
    for read, one in zip(reads, wanted, strict=True):
        path = SolutionPath(path.solutions)
        tracemalloc.start()
        found = read(path)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert_allclose(found, one, rtol=0, atol=1e-9)
        # as many functions as are kept, and those of a few sweeps
        assert most < 20 * function + 20 * function


def test_sparse_samples_are_searched_as_dense_ones_are():
    X, y = blobs()
    X[np.abs(X) < 0.5] = 0.0
    path = taupath.quantile_path(sparse.csr_array(X), y)
    new = X[:30].copy()
    new[3] = 0.0
    found, dense = path.crossings(sparse.csr_array(new)), path.crossings(new)
    assert_allclose(found.length, dense.length, rtol=0, atol=1e-13)
    assert_found(path, new)


def test_a_constant_is_above_or_below_all_along():
    X, _ = blobs(10)
    path = taupath.quantile_regression_path(X, np.full(10, 2.0), intercept="free")
    found = path.crossings(X[:3], [1.0, 2.0, 3.0])
    assert_array_equal(found.length, [1.0, 1.0, 0.0])
    assert_array_equal(found.first, [1.0, 1.0, 0.0])
    assert_array_equal(found.last, [1.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("level", "message"), [([0.0, 1.0], r"level .* \(3,\), got shape \(2,\)"), (np.nan, "NaN")]
)
def test_a_level_that_fits_no_sample_is_refused(level, message):
    path = taupath.quantile_path(*blobs(20))
    with pytest.raises(ValueError, match=message):
        path.crossings(np.zeros((3, 3)), level)


@needs_extended_sums
@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_what_functions_can_move_is_measured_in_full(kernel, intercept):
    X, y = blobs()
    given = {"kernel": kernel, "gamma": 2.0, "degree": 2, "coef0": 1.0}
    path = taupath.quantile_path(X, y, C=5.0, intercept=intercept, **given)
    tracks = path._tracks
    K = {
        "linear": lambda A, B: tracks._metric @ tracks._metric.T,  # of coefficients, there
        "rbf": lambda A, B: rbf_kernel(A, B, gamma=2.0),
        "poly": lambda A, B: (2.0 * A @ B.T + 1.0) ** 2,
    }[kernel]
    moved = np.diff(tracks.coef, axis=0)
    drifted = np.append(0.0, np.cumsum(np.abs(np.diff(tracks.constant))))
    if kernel == "linear":  # coefficients and constants are measured together
        one = np.column_stack((X, np.ones(len(X))))
        assert_allclose(K(X, X), one.T @ one / len(X), rtol=1e-6, atol=1e-7)
        moved = np.diff(np.column_stack((tracks.coef, tracks.constant)), axis=0)
        drifted = np.zeros(len(drifted))
    lengths = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", moved, K(X, X), moved), 0.0))
    travelled = np.append(0.0, np.cumsum(lengths))
    # (up to rounding here: where coefficients move and f does not, lengths are differences)
    assert np.all(tracks._travel >= travelled - 1e-6 * travelled[-1])
    assert_allclose(tracks._travel, travelled, rtol=1e-2, atol=1e-3 * travelled[-1])
    assert np.all(tracks._drift >= drifted * (1.0 - 1e-12))
    assert_allclose(tracks._drift, drifted, rtol=1e-6, atol=1e-12)
    # and no function moves more than that
    new = 2.0 * np.random.default_rng(2).normal(size=(20, 3))
    taus, values = path.values_at_nodes(new)
    norm = path.data.norms(new) if kernel == "linear" else np.sqrt(np.diag(K(new, new)))
    norm = tracks._measured(new, norm)
    for step in (1, 10, len(taus) // 2):
        most = np.outer(norm, tracks._travel[step:] - tracks._travel[:-step])
        most += tracks._drift[step:] - tracks._drift[:-step]
        assert np.all(np.abs(values[:, step:] - values[:, :-step]) <= most + 1e-9)
    assert_no_further_from_lines(tracks, values, norm)
    if kernel != "poly":  # its rows depend on one another, and nodes are solved one by one
        assert_most_are_known(tracks)


def assert_most_are_known(tracks):
    assert all(np.isfinite(most).mean() > 0.5 for most, _ in tracks._bent()[:2])


def assert_no_further_from_lines(tracks, values, norm):
    """Between two nodes, no value is further from the straight line than is known."""
    taus, bent = tracks.taus, tracks._bent()
    for (most, most_constant), step in zip(bent, crossings.STEPS[1:], strict=False):
        for k, first in enumerate(range(0, len(taus) - 1, step)):
            last = min(first + step, len(taus) - 1)
            here, width = slice(first, last + 1), taus[last] - taus[first]
            s = (taus[here] - taus[first]) / (width or 1.0)
            line = np.outer(values[:, first], 1.0 - s) + np.outer(values[:, last], s)
            off = np.abs(values[:, here] - line).max(axis=1)
            assert np.all(off <= norm * most[k] + most_constant[k] + 1e-9)


@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
def test_what_functions_of_many_features_can_move_is_measured_in_full(intercept):
    rng = np.random.default_rng(3)
    X = sparse.csr_array(rng.random((150, 400)) * (rng.random((150, 400)) < 0.1))
    path = taupath.quantile_path(X, np.arange(150) % 2, C=100.0, intercept=intercept)
    assert path.data.by_theta
    new = X[:40] + sparse.csr_array(rng.random((40, 400)) * (rng.random((40, 400)) < 0.05))
    _, values = path.values_at_nodes(new)
    assert_no_further_from_lines(path._tracks, values, path.data.norms(new))
    assert_most_are_known(path._tracks)
    assert_found(path, new)


def test_frequent_and_rare_columns_are_multiplied_alike():
    rng = np.random.default_rng(4)
    often = np.where(np.arange(300) % 5 == 0, 0.7, 0.05)
    X = sparse.csr_array(rng.normal(size=(100, 300)) * (rng.random((100, 300)) < often))
    path = taupath.quantile_path(X, np.arange(100) % 2)
    frequent, _, rare = path.data._columns
    assert 0 < len(frequent) <= 25 and len(rare[0]) > 0
    assert_allclose(path.data.features(X[:30]), (X[:30] @ X.T).toarray(), rtol=0, atol=1e-12)


def test_a_sample_that_is_positive_everywhere_is_so_along_the_whole_path(data_dir):
    """Rounding once made the pieces add up to more than 1, and a search failed for that."""
    data = load_classification("dna.scale", data_dir)
    X, y = data.X.toarray(), data.y == data.y.max()
    train = next(StratifiedShuffleSplit(1, test_size=0.4, random_state=2).split(X, y))[0][:600]
    X = StandardScaler().fit_transform(X[train])
    fitted, held_out = list(StratifiedKFold(5).split(X, y[train]))[1]
    path = taupath.quantile_path(X[fitted], np.where(y[train][fitted], 1, -1), C=0.1)
    assert path.crossings(X[held_out]).length.max() <= 1.0
