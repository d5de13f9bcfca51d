"""Records with nodes: read, copied, cut, renamed, stored, simplified and walked by two threads."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import taupath as tp
from lazily import Lazily
from noded import PARTS, nodes_in, nodes_of, values_of
from taupath.engine.box_solver import Solved
from taupath.engine.record import Node, Nodes, moves_between
from taupath.engine.status import AFTER, BEFORE, FREE, LOWER, UPPER
from taupath.storage.container import read_container, write_container

pytestmark = pytest.mark.core

rng = np.random.default_rng(2)
X = rng.normal(size=(36, 3))
Y = np.where(X[:, 0] + rng.normal(size=36) > 0.0, 1, -1)
RESPONSE = X[:, 0] + (0.5 + np.abs(X[:, 1])) * rng.normal(size=36)
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))

JOBS = {
    "augmented": lambda: tp.quantile_path(X, Y),
    "free": lambda: tp.quantile_path(X, Y, intercept="free"),
    "sparse": lambda: tp.quantile_path(SPARSE, Y, intercept="none"),
    "rbf": lambda: tp.quantile_path(X, Y, kernel="rbf", gamma=0.5, intercept="free"),
    "part": lambda: tp.quantile_path(X, Y, tau_range=(0.3, 0.9)),
    "over C": lambda: tp.regularization_path(X, Y, 0.3, C_max=5.0),
    "regression": lambda: tp.quantile_regression_path(X, RESPONSE, intercept="free"),
    "rbf regression": lambda: tp.quantile_regression_path(X, RESPONSE, kernel="rbf", gamma=0.5),
}
PLAIN = Lazily(JOBS)


def noded(name):
    with nodes_in(*PARTS):
        return JOBS[name]()


NODED = Lazily({name: lambda name=name: noded(name) for name in JOBS})


def features(name):
    return SPARSE if name == "sparse" else X


@pytest.fixture(params=list(JOBS))
def name(request):
    return request.param


# -- reading -----------------------------------------------------------------------------------


def test_what_is_interpolated_is_the_path_itself(name):
    path, plain = NODED[name], PLAIN[name]
    assert all(nodes is not None and len(np.unique(nodes.stretch)) == 4 for nodes in nodes_of(path))
    assert path.tau_range == plain.tau_range
    assert (np.diff(path.taus) > 0.0).all()
    for value in values_of(path)[::5]:
        assert path.duality_gap(value) < 1e-9, value
        assert path.kkt_violation(value) < 1e-7, value
        together = np.sort(np.concatenate(path.index_sets(value)))
        assert_array_equal(together, np.arange(36))
    assert path.certify(max_points=None).holds()
    # an intercept is not unique where it jumps
    inner = 0.5 * (path.taus[1:] + path.taus[:-1])
    assert_allclose(
        path.decision_function(features(name), inner),
        plain.decision_function(features(name), inner),
        atol=1e-6,
    )


def test_nodes_are_solved_for_the_given_targets_where_raised_ones_would_be_seen():
    for name in ("regression", "rbf regression"):
        for piece in NODED[name].solutions.pieces:
            reader, nodes = piece._reader, piece.record.nodes
            for k, t in enumerate(nodes.t):
                assert reader.error(reader._at_node(nodes, k), float(t)) < 1e-11


@pytest.mark.parametrize(("side", "sign"), [(LOWER, 1.0), (UPPER, -1.0)])
def test_a_free_point_as_good_as_at_a_bound_and_beyond_its_margin_is_bound(side, sign):
    (piece,) = NODED["augmented"].solutions.pieces
    reader, nodes = piece._reader, piece.record.nodes
    t = float(nodes.t[len(nodes.t) // 2])
    right = reader.solution(t)
    slack = reader.rows.products(right.w) - reader.line.target(t)
    point = int(np.flatnonzero((right.status == side) & (sign * slack > 0.1))[0])
    for by, settles in ((1e-14, True), (1e-9, False)):
        status, theta = right.status.copy(), right.theta.copy()
        status[point] = FREE
        theta[point] += sign * by * reader.line.width(t)[point]
        found = reader._settled(right._replace(status=status, theta=theta), t)
        expected = right if settles else right._replace(status=status, theta=theta)
        assert_array_equal(found.status, expected.status)
        assert_array_equal(found.theta, expected.theta)
        assert_array_equal(found.w, right.w)


def test_w_that_is_not_the_sum_of_long_rows_is_noticed():
    """Though no margin says so: there are fewer rows than columns."""
    draw = np.random.default_rng(6)
    wide = np.hstack((np.full((8, 1), 1e10), draw.normal(size=(8, 12))))
    labels = np.where(np.arange(8) % 2 == 0, 1, -1)
    with nodes_in(*PARTS):
        path = tp.quantile_path(wide, labels, intercept="none")
    (piece,) = path.solutions.pieces
    nodes = piece.record.nodes
    across = np.append(0.0, np.linalg.svd(wide[:, 1:])[2][-1])
    assert np.abs(wide @ across).max() < 1e-12
    moved = replace(piece.record, nodes=replace(nodes, w=nodes.w + 0.01 * across))
    wrong = type(piece)(piece.job, piece.data, piece.way, moved)
    inner = nodes.t[(nodes.t > 0.2) & (nodes.t < 0.8)]  # elsewhere rounding of θ moves w too little
    assert len(inner)
    for t in map(float, inner):
        assert_allclose(wrong.solution(t).w, piece.solution(t).w, rtol=0.0, atol=1e-5)


def test_sweeps_find_what_is_read(name):
    path = NODED[name]
    walked = path.solutions
    for with_theta in (False, True):
        sweep = walked.sweep(0, len(walked.nodes), with_theta)
        for k, value in enumerate(walked.nodes):
            found = walked.solution(float(value))
            if with_theta:
                assert_allclose(walked.data.expand_theta(sweep.theta[k]), found.theta, atol=1e-7)
            elif not walked.data.rows.balanced:
                assert_allclose(sweep.w[k], found.w, atol=1e-7)
    crossings, plain = path.crossings(features(name)), PLAIN[name].crossings(features(name))
    assert_allclose(crossings.length, plain.length, atol=1e-7)


def test_copies_are_the_same(name):
    path = NODED[name]
    other = pickle.loads(pickle.dumps(path))
    for value in values_of(path)[::5]:
        assert_array_equal(other.alpha(value), path.alpha(value))
        assert other.duality_gap(value) == path.duality_gap(value)


def test_a_simplified_path_keeps_its_tolerance(name, tmp_path):
    path = NODED[name].simplify(1e-4)
    assert path.n_kinks < NODED[name].n_kinks
    certificate = path.certify()
    assert certificate.holds() and certificate.worst_gap <= 1e-4
    for value in path.taus:
        assert_allclose(path.alpha(value), NODED[name].alpha(value), atol=1e-12)
    if "rbf" in name:
        return
    path.save(tmp_path / "path.tau")
    response = RESPONSE if "regression" in name else Y
    attached = tp.load(tmp_path / "path.tau").attach(features(name), response)
    assert attached.certify().worst_gap <= 1e-4
    for value in np.linspace(*path.tau_range, 5)[1:-1]:
        assert_allclose(attached.coef(value), path.coef(value), atol=1e-9)


# -- storage -----------------------------------------------------------------------------------


def test_files_keep_nodes_and_doubtful_intervals(name, tmp_path):
    path = NODED[name]
    path.save(tmp_path / "path.tau")
    other = tp.load(tmp_path / "path.tau")
    for one, two in zip(path.solutions.pieces, other.solutions.pieces, strict=True):
        for field, value in vars(one.record.nodes).items():
            found = getattr(two.record.nodes, field)
            assert (found is None) == (value is None)
            if value is not None:
                assert_array_equal(found, value)
                assert found.dtype == value.dtype
        assert_array_equal(two.record.doubtful, one.record.doubtful)
    for value in values_of(path)[::5]:
        assert_array_equal(other.alpha(value), path.alpha(value))


def changed(arrays, name, change):
    """Return arrays with this change of the one of this name."""
    (key,) = [key for key in arrays if key.split(".")[0] == name]
    return arrays | {key: np.ascontiguousarray(change(arrays[key].copy()))}


def put(value, where=0):
    def change(array):
        # numbers are stored in fewer bytes if that loses nothing
        array = array.astype(float) if isinstance(value, float) else array
        array.flat[where] = value
        return array

    return change


NODE_DAMAGES = {
    "t backward": ("node_t", lambda t: t[::-1].copy()),
    "t beyond": ("node_t", put(1.5, -1)),
    "t below": ("node_t", put(-0.5)),
    "t nan": ("node_t", put(np.nan)),
    "t short": ("node_t", lambda t: t[:-1].copy()),
    "none": ("node_t", lambda t: t[:0].copy()),
    "t of another type": ("node_t", lambda t: t.astype(np.int32)),
    "stretch short": ("node_stretch", lambda stretch: stretch[:-1].copy()),
    "stretch of another type": ("node_stretch", lambda stretch: stretch.astype(np.int64)),
    "status of no set": ("node_status", put(7)),
    "status negative": ("node_status", put(-1)),
    "status of fewer points": ("node_status", lambda status: status[:, :-1].copy()),
    "status of fewer nodes": ("node_status", lambda status: status[:-1].copy()),
    "status flat": ("node_status", lambda status: status.ravel()),
    "one more free": ("node_status", lambda status: np.where(np.arange(36) == 3, 1, status)),
    "theta short": ("node_theta", lambda theta: theta[:-1].copy()),
    "theta nan": ("node_theta", put(np.nan)),
    "theta infinite": ("node_theta", put(np.inf, -1)),
    "multiplier short": ("node_multiplier", lambda multiplier: multiplier[:-1].copy()),
    "multiplier nan": ("node_multiplier", put(np.nan, -1)),
    "w of fewer nodes": ("node_w", lambda w: w[:-1].copy()),
    "w flat": ("node_w", lambda w: w.ravel()),
    "w nan": ("node_w", put(np.nan)),
    "doubtful backward": ("doubtful", lambda doubtful: doubtful[:, ::-1] + 0.0),
    "doubtful beyond": ("doubtful", put(1.5, -1)),
    "doubtful nan": ("doubtful", put(np.nan)),
    "doubtful with three ends": ("doubtful", lambda doubtful: np.zeros((1, 3))),
}


@pytest.mark.parametrize("damage", NODE_DAMAGES)
def test_damaged_nodes_are_refused(damage, tmp_path):
    file = tmp_path / "path.tau"
    NODED["augmented"].save(file)
    content, arrays = read_container(file)
    array, change = NODE_DAMAGES[damage]
    write_container(file, content, changed(arrays, array, change))
    with pytest.raises(tp.ModelFileError) as error:
        tp.load(file)
    assert "\n" not in str(error.value)


def test_w_of_nodes_of_other_columns_is_not_trusted(tmp_path):
    """It is computed from θ then."""
    file = tmp_path / "path.tau"
    path = NODED["augmented"]
    path.save(file)
    content, arrays = read_container(file)
    write_container(file, content, changed(arrays, "node_w", lambda w: w[:, :-1].copy()))
    other = tp.load(file)
    for value in values_of(path)[::7]:
        assert_allclose(other.coef(value), path.coef(value), atol=1e-12)


@pytest.mark.parametrize("field", ["t", "stretch", "status", "theta", "multiplier", None])
def test_descriptions_of_nodes_must_be_whole(field, tmp_path):
    file = tmp_path / "path.tau"
    NODED["augmented"].save(file)
    content, arrays = read_container(file)

    def records(part):
        if isinstance(part, dict):
            if "nodes" in part and "move" in part:
                yield part
            for each in part.values():
                yield from records(each)
        elif isinstance(part, list):
            for each in part:
                yield from records(each)

    (record,) = records(content)
    if field is None:
        record["nodes"] = 3
    else:
        del record["nodes"][field]
    write_container(file, content, arrays)
    with pytest.raises(tp.ModelFileError):
        tp.load(file)


# -- the parts of a record ---------------------------------------------------------------------


def some_nodes(with_w=True):
    """Return two stretches that touch at 0.4 and one apart, in disorder."""
    draw = np.random.default_rng(0)
    nodes = []
    for stretch, times in ((1, (0.4, 0.5)), (0, (0.1, 0.2, 0.4)), (2, (0.8, 0.9))):
        for t in times:
            status = draw.integers(0, 3, 6).astype(np.int8)
            solved = Solved(
                draw.normal(size=6), np.float64(t), draw.normal(size=3), np.zeros(6), 0.0, 1.0
            )
            nodes.append(Node(t, stretch, status, solved))
    return nodes, Nodes.of(nodes, with_w)


def test_nodes_are_in_order_and_keep_what_is_free():
    nodes, kept = some_nodes()
    assert_array_equal(kept.t, [0.1, 0.2, 0.4, 0.4, 0.5, 0.8, 0.9])
    assert_array_equal(kept.stretch, [0, 0, 0, 1, 1, 2, 2])
    by_place = {(node.t, node.stretch): node for node in nodes}
    for k, place in enumerate(zip(kept.t, kept.stretch, strict=True)):
        node = by_place[place]
        assert_array_equal(kept.status[k], node.status)
        assert_array_equal(kept.free_theta(k), node.found.theta[node.status == FREE])
        assert_array_equal(kept.w[k], node.found.w)
        assert kept.multiplier[k] == node.t
    assert some_nodes(with_w=False)[1].w is None


def test_nodes_around():
    _, kept = some_nodes()
    expected = {
        0.05: None,
        0.1: (0, 0),
        0.15: (0, 1),
        0.3: (1, 2),
        0.45: (3, 4),
        0.5: (4, 4),
        0.6: None,
        0.85: (5, 6),
        0.9: (6, 6),
        0.95: None,
    }
    assert {t: kept.around(t) for t in expected} == expected
    assert kept.around(0.4) in ((2, 2), (3, 3))


@pytest.mark.parametrize("end", [0.05, 0.1, 0.15, 0.2, 0.4, 0.45, 0.6, 0.85, 0.9, 0.95])
@pytest.mark.parametrize("with_w", [True, False])
def test_nodes_until_an_end_are_read_the_same_up_to_it(end, with_w):
    _, kept = some_nodes(with_w)
    part = kept.until(end)
    if end < 0.1:
        assert part is None
        return
    for t in (*np.linspace(0.0, end, 41).tolist(), end):
        assert part.around(t) == kept.around(t)
    n = len(part.t)
    assert n == len(kept.t) or kept.t[n] > end
    assert len(part.theta) == (part.status == FREE).sum()
    for k in range(n):
        assert_array_equal(part.free_theta(k), kept.free_theta(k))
        assert part.w is None or (part.w[k] == kept.w[k]).all()
    assert len(part.multiplier) == len(part.stretch) == n


def test_nodes_in_another_order():
    _, kept = some_nodes()
    order = np.array([3, 5, 0, 1, 4, 2])
    other = kept.in_order(order)
    for k in range(len(kept.t)):
        theta, moved = np.zeros(6), np.zeros(6)
        theta[kept.status[k] == FREE] = kept.free_theta(k)
        moved[other.status[k] == FREE] = other.free_theta(k)
        assert_array_equal(moved[order], theta)
        assert_array_equal(other.status[k][order], kept.status[k])
    again = other.in_order(np.argsort(order))
    assert_array_equal(again.theta, kept.theta)


def test_moves_between_index_sets_lead_from_one_to_the_other():
    draw = np.random.default_rng(1)
    for _ in range(20):
        before, after = draw.integers(0, 3, (2, 30)).astype(np.int8)
        point, move = moves_between(before, after)
        assert (point.dtype, move.dtype) == (np.int32, np.int8)
        assert_array_equal(np.sort(point), np.flatnonzero(before != after))
        assert_array_equal(BEFORE[move], before[point])
        assert_array_equal(AFTER[move], after[point])
        arrives = (AFTER[move] == FREE).astype(int)
        assert (np.diff(arrives) >= 0).all()  # there is never more room needed than at the end
    assert len(moves_between(before, before)[0]) == 0


@pytest.mark.parametrize("part", [0.17, 0.3, 0.5, 0.97])
def test_a_record_until_an_end_is_read_the_same(part):
    """Also if it ends between two nodes."""
    path = NODED["augmented"]
    (piece,) = path.solutions.pieces
    record = piece.record
    kinks = np.unique(record.t)
    end = float(kinks[int(part * len(kinks))] + 1e-9)
    cut = type(piece)(piece.job, piece.data, piece.way, record.until(end))
    assert cut.record.end == end and cut.kinks[-1] == end
    assert (cut.record.doubtful <= end).all() and len(cut.record.doubtful)
    for value in np.append(np.linspace(0.0, end, 60), end):
        one, two = cut.solution(float(value)), piece.solution(float(value))
        for a, b in zip(one, two, strict=True):
            assert_array_equal(a, b)
    early = replace(record, doubtful=np.array([[0.1, 0.2], [0.6, 0.8], [0.9, 1.0]])).until(0.7)
    assert_array_equal(early.doubtful, [[0.1, 0.2], [0.6, 0.7]])


# -- two threads -------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [((0.0, 1.0),), PARTS])
def test_two_walks_that_meet_inside_a_stretch(parts):
    with nodes_in(*parts):
        path = tp.quantile_path(X, Y, n_jobs=2)
    assert len(path.solutions.pieces) > 1
    plain = PLAIN["augmented"]
    for value in values_of(path)[::7]:
        assert path.duality_gap(value) < 1e-9
        assert path.kkt_violation(value) < 1e-7
        assert_allclose(path.coef(value), plain.coef(value), atol=1e-6)
    seams = [float(piece.kinks[-1]) for piece in path.solutions.pieces[:-1]]
    for seam in seams:
        assert_allclose(path.coef(np.nextafter(seam, 0.0)), path.coef(seam), atol=1e-9)
