"""Problems that were once wrong, inexact or refused, as small as they can be."""

import numpy as np
import pytest

import taupath as tp
import verify

pytestmark = pytest.mark.core


def numbers(text, columns=1):
    """Return a matrix from its entries, row by row."""
    return np.array(text.split(), dtype=float).reshape(-1, columns)


def digits(text):
    return np.array([int(digit) for digit in text])


def assert_exact(path, gap=1e-9, most=100):
    """Assert that the promise holds at kinks, midpoints, next to kinks, and to the path itself."""
    kinks = path.taus
    begin, end = path.tau_range
    near = np.concatenate((np.nextafter(kinks[1:-1], begin), np.nextafter(kinks[1:-1], end)))
    values = np.concatenate(
        (verify.kinks_and_midpoints(kinks, most), near[:: 1 + len(near) // most])
    )
    for value in map(float, values):
        assert path.duality_gap(value) <= gap, value
        assert path.kkt_violation(value) <= 1e-7, value
    certificate = path.certify()
    assert certificate.worst_gap <= gap
    assert certificate.holds() or gap > 1e-9


# rows of sizes from 1e-6 to 1e6
ROWS_OF_ALL_SIZES = numbers(
    """
    -0.00058 -0.0013 -0.0033 -140000 100000 270000 -20000 15000 -12000 2.9e-05 2.2e-05 2.6e-05
    -3.2e-06 -5.5e-07 -9e-06 -7.4e-05 -0.00025 -0.00016 -0.54 200 66 -0.013 -0.0058 -0.0029
    -0.00016 0.00036 -0.00042 730 1100 -1500 430 160 300 -0.0046 0.004 -0.0026 28000 -100000 9000
    -4.4e-06 -1.6e-05 2.4e-05 -310 -1100 -250 1600 -5700 -4200 -180 -11 -160 -100000 51000 -32000
    1.4 0.98 1 350 -550 -100 -0.0019 -0.0012 -0.001 -0.027 0.09 0.053 -4.3e-05 -0.00018 -1e-05
    1500 -780 -360 0.71 0.45 -0.18 -1.9e-06 4.2e-06 -8.4e-07 23000 86000 88000 -0.0059 -0.034 0.03
    390000 250000 390000 -39 -39 -73 -15 3.8 5.1 0.059 -0.11 -0.031 0.00058 -0.0019 0.0013 -37 -54
    -33 -6.3e-05 -6.1e-06 -0.00028 3.7e-05 9.2e-05 0.00014 -20000 -110000 -75000 0.0021 0.0031
    0.0023 0.28 1.9 -0.86 -3.1 6.8 -9 -0.074 -0.12 0.2 -0.032 -0.11 -0.044
    """,
    3,
)
LABELS_OF_ALL_SIZES = digits("001011001010100000100010001100000000000010")

# a kernel matrix that is singular to working precision
ON_A_LINE = numbers(
    """
    0.7182783271599456 0.6625145466161707 0.22815350173909532 0.6503930018962633
    0.5426397435509507 0.479615830057075 0.5208896300112257 0.8913905214668086 0.3323848465229995
    0.1331181795653582 0.7019383308106629 0.025768166980071117 0.15955298231285076
    0.396311527725584 0.8970070177854478 0.14896811770716267 0.19678195442548596
    0.18883474181744608 0.22571208288088684 0.5027409325022907 0.2839444610707611
    0.9355231339731714 0.8124430045808433 0.051626136950818746 0.4238012062435168
    0.08123268616066948 0.6223645676259143 0.6610541588772231 0.49118424173114283
    0.23240056251170615 0.8329611511349108 0.3070663371945863 0.5293915721914775
    0.8636666042260355 0.14834429396653803 0.8096055520764142 0.09607177337794537
    0.42496683850772965
    """,
    1,
)
LABELS_ON_A_LINE = digits("01100111110001011000001010011010100001")

# ties of x and y, and boxes of 1e9
TIED = numbers(
    """
    -1.1160163058955685 -0.9724767389964603 -0.7513302431230686 -0.6769534521745114
    -0.5620808566192025 -0.35039987673897327 -0.3496595240416385 -0.09113456727605607
    0.006153331377017169 0.10935311135788078 0.2088271195620322 0.508003114777989
    0.8474389574720873 0.9038173919345308 1.151321212169743 1.9716678398181784
    """,
    1,
)
TIES = numbers(
    """
    4 -2 5 1 0 -2 9 1 13 2 10 -1 3 -1 6 -1 13 0 12 0 0 -2 3 -1 11 2 15 3 15 1 10 1 7 1 8 1 12 1 12
    0 11 2 2 -2 1 0 13 1 9 -1 11 2 4 -1 14 0 2 0 8 0 9 1 11 0
    """,
    2,
)

# integers, and what is added to them, in units of 1e-9
NEAR_INTEGERS = numbers(
    """
    1 0.8 2 -0.6 -2 -0.07 2 1 0 -0.4 0 0.2 1 -0.02 -1 0.6 2 -0.4 -2 -0.2 -1 0.2 -1 0.1 0 0.9 -2 -1
    -2 -1 -2 -1 -2 1 -2 -0.4 2 -1 -2 -1 1 -1 -1 -1 -1 0.6 0 -1 -1 -0.3 2 -0.007 -2 -0.4 1 1 2 -0.5
    -2 -1 -1 -2 1 -0.2 1 0.3 1 -0.5 1 -0.5
    """,
    2,
)
LABELS_NEAR_INTEGERS = digits("10101000001101001011001100101010111")

# four columns: two of integers, two of what is added to them, in units of 1e-9
NEARLY_DEPENDENT = numbers(
    """
    2 -1 2 -20 0 0 7 20 -2 2 2 -6 1 2 -1 -0.7 0 0 2 -9 -1 -2 30 9
    """,
    4,
)
LABELS_NEARLY_DEPENDENT = digits("001111")

# columns of sizes from 1e-6 to 1e6
COLUMNS_OF_ALL_SIZES = numbers(
    """
    -1.7357825402334148e-05 -915171.6392338873 -0.00020066207610396557 6.730050708436014e-07
    2.6356571473225388 3.2555751637501164e-05 -262042.8595954431 0.0002145747921515052
    -3.0515854107494975e-06 3.2088219403765987 3.3681452546131875e-06 1063268.8059231192
    0.00030993732535154175 7.4577685290237394e-06 -0.3434585794661433 -7.521136189120643e-06
    604776.0377915492 0.0002993051473960465 -2.587182353234364e-06 -2.4324554601544306
    -4.68268987765879e-06 363036.59881489124 2.5532032382297295e-05 7.735607500082399e-06
    0.889316189807735 -2.985377547053029e-05 -750968.2653316773 -0.0003141194167777567
    -3.1509609044201877e-06 -0.3605008449360166 1.902861745753303e-05 559832.7684281123
    -2.607255117605164e-05 5.230612025375345e-07 1.139950360207624 1.313900726691853e-05
    329832.72581110295 -0.000253189219548401 1.1799946778961157e-06 0.9776834245696232
    1.1710290547486843e-05 557694.2124797582 -0.00022800372476271155 3.611120969343181e-06
    -1.485123062903071 2.433174276027828e-05 -1152843.9590540288 -0.0002995976324562398
    -7.469962279382362e-06 -2.281554361649316 -4.261572481635587e-06 -406632.89155844547
    -4.328367656975065e-05 -1.5608715823391893e-06 -4.673584160394947
    """,
    5,
)
LABELS_OF_COLUMNS = digits("10111111111")

# copies of few rows, with responses far from zero
FEW_ROWS = numbers(
    """
    -1.1942486719191714 -1.054660020808342 -0.20504402218362466 1.5153615227584103
    1.5004914095756914 -0.9460924549382954 0.4294214909026238 1.2830897583777856
    0.6115908631511922 0.2914071163373774 -0.5011058222122992 -0.6080552118949593
    -1.6955678517253112 1.907005333350683 0.9591080859007618 -0.1645988964721027 1.808177567497174
    -1.3556661771632403 -1.122242119411226 -2.088179451549366 -0.08809660315783446
    0.5392215474387481 1.1578104428803908 0.0328832027993634 -0.575479964068676 0.9269598533251188
    -1.972945150674327 -1.5556365218665102 0.28979477874917975 0.7770696887202349
    1.9776196863067947 -1.1457184769962934 1.8028359639326024 0.6209470996488171
    0.20344495469455892
    """,
    5,
)
COPIES = numbers(
    """
    5 0 2 2 2 1 4 0 6 0 6 0 5 0 5 1 4 1 6 0 3 0 3 1 2 2 2 2 0 1 1 0 2 3 0 1 6 2 4 2 5 2 2 0 2 3 5
    0
    """,
    2,
)


@pytest.mark.parametrize("intercept", ["free", "augmented"])
def test_rows_of_all_sizes(intercept):
    path = tp.quantile_path(ROWS_OF_ALL_SIZES, LABELS_OF_ALL_SIZES, C=59.4, intercept=intercept)
    assert_exact(path)


@pytest.mark.filterwarnings("ignore::taupath.InexactPathWarning")  # beyond what is promised
def test_a_smooth_kernel_with_wide_boxes():
    """The condition is 2e8: nothing is promised, and the worst gap is at 1 - τ = 8e-15."""
    how = {"kernel": "rbf", "gamma": 0.004355912219313754, "intercept": "free"}
    path = tp.quantile_path(ON_A_LINE, LABELS_ON_A_LINE, C=1e7, **how)
    assert not path.certify().promised
    assert_exact(path, gap=1e-7)


def test_a_regression_with_ties_and_wide_boxes():
    X = TIED[TIES[:, 0].astype(int)]
    assert_exact(tp.quantile_regression_path(X, TIES[:, 1], C=2418981040.5915422))


@pytest.mark.parametrize("C", [1e4, 1e6])
def test_points_near_integers_with_wide_boxes(C):
    X = NEAR_INTEGERS[:, :1] + 1e-9 * NEAR_INTEGERS[:, 1:]
    assert_exact(tp.quantile_path(X, LABELS_NEAR_INTEGERS, C=C))


def test_a_free_point_that_nearly_depends_on_others():
    X = NEARLY_DEPENDENT[:, :2] + 1e-9 * NEARLY_DEPENDENT[:, 2:]
    assert_exact(tp.quantile_path(X, LABELS_NEARLY_DEPENDENT, C=1.0))


def test_the_sides_of_points_whose_boxes_are_still_empty():
    how = {"C": 47.49822052402288, "intercept": "none"}
    assert_exact(tp.quantile_path(COLUMNS_OF_ALL_SIZES, LABELS_OF_COLUMNS, **how))


def test_responses_far_from_zero():
    """The gap is judged in extended precision, relative to the true objective."""
    X, y = FEW_ROWS[COPIES[:, 0].astype(int)], 1184729.1633302607 + COPIES[:, 1]
    path = tp.quantile_regression_path(X, y, C=0.15021174817872696, intercept="free")
    assert_exact(path)
    long, C = np.longdouble, path.C
    for tau in path.taus[1:-1].tolist():
        theta, w = path.alpha(tau).astype(long), path.coef(tau).astype(long)
        rest = y.astype(long) - X.astype(long) @ w - long(path.intercept(tau))
        primal = w @ w / 2 + C * np.maximum(tau * rest, (tau - 1) * rest).sum()
        summed = X.astype(long).T @ theta
        dual = y.astype(long) @ theta - summed @ summed / 2
        assert abs(primal - dual) <= 1e-9 * primal


def test_near_copies_with_a_kernel():
    rng = np.random.default_rng(3)
    points = rng.integers(-2, 3, (120, 2)).astype(float)
    y = (points @ rng.standard_normal(2) + 2 * rng.standard_normal(120) > 0).astype(int)
    X = points + 1e-10 * rng.standard_normal((120, 2))
    path = tp.quantile_path(X, y, C=100.0, kernel="rbf", gamma=1.0, intercept="free")
    assert_exact(path, most=60)


def test_a_certificate_of_few_points_knows_the_doubtful_ones():
    """A lattice with noise: where the walk met difficulties is checked, however few points are."""
    rng = np.random.default_rng(0)
    points = rng.integers(-2, 3, (150, 3)).astype(float)
    y = (points @ rng.standard_normal(3) + 2 * rng.standard_normal(150) > 0).astype(int)
    path = tp.quantile_path(points + 1e-9 * rng.standard_normal((150, 3)), y, C=5.0)
    few = path.certify(max_points=20)
    assert few.checked_doubtful and few.n_checked > 20 and few.holds()
    assert_exact(path, most=60)


@pytest.mark.parametrize(("seed", "C"), [(0, 1.0), (3, 1e-3), (7, 0.1), (13, 0.1)])
def test_functions_that_theta_gives(seed, C):
    """A kernel of rank one whose entries span 14 orders: w was right where f = Σ θ_i k(x_i, ·) was
    not, since rows and intercept are nearly dependent."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((30, 1))
    y = x[:, 0] + rng.standard_normal(30)
    kernel = {"kernel": "poly", "degree": 7, "gamma": 1.0, "intercept": "free"}
    path = tp.quantile_regression_path(x, y, C=C, **kernel)
    assert_exact(path)
    assert path.certify().promised
