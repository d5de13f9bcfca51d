"""Small model files that ask for much memory or time."""

from collections.abc import Callable
from typing import Any

import numpy as np
from anatomy import Parts, assembled

# What a file with holes consists of: its size, and bytes at some places.
Holes = tuple[int, dict[int, bytes]]
Bomb = Callable[[dict[str, Parts], np.random.Generator], bytes | Holes]

GIGABYTE = 1 << 30


def columns(files: dict[str, Parts], rng: np.random.Generator) -> bytes:
    """Return a sparse matrix with many columns that are empty."""
    parts = files["sparse"].copy()
    parts.content["X"]["n_features"] = int(rng.choice([2**22, 2**23, 2**24, 2**30, 2**31 - 2]))
    return parts.assembled()


def labels(files: dict[str, Parts], rng: np.random.Generator) -> bytes:
    """Return many labels, or long ones."""
    parts = files[str(rng.choice(["classifier", "pairs", "against the rest", "of one tau"]))].copy()
    count, length = [(2, 1_000_000), (2000, 1000), (100_000, 6), (300, 60_000)][rng.integers(4)]
    values = [f"{k:06}" + "x" * (length - 6) if k == 0 else f"{k:06}" for k in range(count)]
    parts.content["classes"] = {"dtype": f"<U{length}", "values": values}
    return parts.assembled()


def labels_of_a_path(files: dict[str, Parts], rng: np.random.Generator) -> bytes:
    """Return long labels of many samples."""
    parts = _larger(files["exact"], int(rng.choice([1000, 100_000])))
    length = int(rng.choice([60_000, 1_000_000]))
    parts.content["classes"] = {"dtype": "<U9", "values": ["a" * length, "b"]}
    return parts.assembled()


def paths(files: dict[str, Parts], rng: np.random.Generator) -> bytes:
    """Return many paths that share their data."""
    n, k = [(20_000, 60), (300, 30), (3, 40)][rng.integers(3)]
    larger = _larger(files["exact"], n)
    kernel = rng.random() < 0.3
    path = larger.content
    if kernel:
        path |= {"kernel": "sigmoid", "gamma": 1.0, "degree": 3.0, "coef0": 1.0, "cache_size": 1e3}
    parts = files["pairs"].copy()
    parts.arrays = larger.arrays
    path = {**path, "classes": {"dtype": "<i8", "values": [0, 1]}}
    n_paths = k * (k - 1) // 2
    values = [f"{j:05}" for j in range(k)]
    parts.content |= {"paths": [path] * n_paths, "members": [None] * n_paths}
    parts.content["classes"] = {"dtype": "<U5", "values": values}
    parts.content["n_features"] = 3
    if kernel:
        parts.content["parameters"]["kernel"] = "sigmoid"
    return parts.assembled()


def free_points(files: dict[str, Parts], rng: np.random.Generator) -> bytes:
    """Return many points that are free at once."""
    n = int(rng.choice([3000, 7000, 20_000, 100_000]))
    return _larger(files["exact"], n, free=True).assembled()


def kernels(files: dict[str, Parts], rng: np.random.Generator) -> bytes:
    """Return a large kernel matrix."""
    n = int(rng.choice([3000, 9000, 20_000, 2_000_000]))
    parts = _larger(files["exact"], n)
    # any model with this many samples and a sigmoid kernel takes long to read, honest ones, too
    name = str(rng.choice(["rbf", "poly"] if n == 3000 else ["rbf", "sigmoid", "poly"]))
    parts.content |= {
        "kernel": name,
        "gamma": 1.0,
        "degree": 3.0,
        "coef0": 1.0,
        "cache_size": float(rng.choice([1e3, 1e4, 1e9, 1e300])),
        "intercept": str(rng.choice(["free", "augmented"])),
    }
    return parts.assembled()


def kernel_as_sparse(files: dict[str, Parts], rng: np.random.Generator) -> bytes:
    """Return a precomputed kernel matrix that is stored as a sparse one."""
    n = int(rng.choice([20_000, 200_000]))
    parts = _larger(files["exact"], n)
    parts.arrays |= {
        "empty": np.zeros(0, dtype=np.int8),
        "none": np.zeros(0, dtype="<i4"),
        "indptr": np.zeros(n + 1, dtype="<i8"),
    }
    matrix = {"data": "empty", "indices": "none", "indptr": "indptr", "n_features": n}
    parts.content |= {"kernel": "precomputed", "X": matrix, "gamma": 1.0, "degree": 3.0}
    parts.content |= {"coef0": 0.0, "cache_size": 1e9}
    return parts.assembled()


def nodes(files: dict[str, Parts], rng: np.random.Generator) -> bytes:
    """Return many nodes, with data and a free intercept that would have to be balanced at each."""
    parts = files["approximate with data"].copy()
    n, k = 20_000, int(rng.choice([1000, 20_000]))
    content = parts.content
    parts.arrays = {
        "X": rng.integers(-9, 9, (n, 2)).astype("i1"),
        "y": (1 - 2 * (np.arange(n) % 2)).astype("i1"),
        "nodes": np.linspace(0.0, 1.0, k).astype("<f8"),
        "w": rng.integers(-9, 9, (k, 3)).astype("i1"),
        "width": np.ones(k, dtype="i1"),
        "centre": np.full((k, 2), 0.5, dtype="<f4"),
    }
    content |= {"samples": n, "features": 2, "nodes": "nodes", "w": "w"}
    content["smoothings"] = {"width": "width", "centre": "centre"}
    content["data"] = {"X": {"dense": "X"}, "y": "y", "weight": None, "single": False}
    return parts.assembled()


def conversions(files: dict[str, Parts], rng: np.random.Generator) -> bytes:
    """Return bytes that become doubles, over and over."""
    parts = files["pairs"].copy()
    n = 100_000
    larger = _larger(files["exact"], n, d=20)
    path = larger.content | {"classes": {"dtype": "<i8", "values": [0, 1]}}
    parts.arrays = larger.arrays
    parts.content |= {"paths": [path] * 3, "members": [None] * 3, "n_features": 20}
    return parts.assembled()


def headers(files: dict[str, Parts], rng: np.random.Generator) -> bytes:
    """Return many arrays without numbers, or many names."""
    parts = files["classifier"].copy()
    how = rng.integers(3)
    if how == 0:
        parts.arrays |= {f"a{k}": np.zeros(0, dtype="i1") for k in range(30_000)}
    elif how == 1:
        parts.content["feature_names"] = [""] * 300_000
    else:
        parts.content["parameters"]["C"] = [{}] * 300_000
    return parts.assembled()


def holes(files: dict[str, Parts], rng: np.random.Generator) -> Holes:
    """Return a file of many gigabytes that takes no room on disk."""
    parts = files["exact"].copy()
    size = int(rng.choice([1, 3, 20])) * GIGABYTE
    how = rng.integers(3)
    if how == 0:  # longer than its header says
        raw = parts.assembled()
        return len(raw) + size, {0: raw}
    header = parts.header()
    if how == 1:  # as long as its header says; the checksum does not fit
        last = max(entry["data_offsets"][1] for entry in list(header.values())[1:])
        entry = {"dtype": "I8", "shape": [size], "data_offsets": [last, last + size]}
        raw = assembled({**header, "zeros": entry}, parts.data())
        return len(raw) + size, {0: raw}
    raw = assembled(header, parts.data())  # a header of many zeros
    return 8 + size, {0: (90_000_000).to_bytes(8, "little") + raw[8:]}


def _larger(parts: Parts, n: int, free: bool = False, d: int = 3) -> Parts:
    """Return a path of n samples, with no events; all of them are free, or none."""
    parts = parts.copy()
    rng = np.random.default_rng(n)
    parts.arrays = {
        "X": rng.integers(-9, 9, (n, d)).astype("i1"),
        "y": (1 - 2 * (np.arange(n) % 2)).astype("i1"),
        "status": np.full(n, 1 if free else 0, dtype="i1"),
        "free": np.arange(n if free else 0, dtype="<i4"),
        "t": np.zeros(0, dtype="<f8"),
        "index": np.zeros(0, dtype="<i4"),
        "move": np.zeros(0, dtype="i1"),
    }
    record: dict[str, Any] = {name: name for name in ("status", "free", "t", "index", "move")}
    record |= {"begin": 0.0, "end": 1.0, "counters": {}}
    walk = {"backward": False, "record": record}
    parts.content |= {"X": {"dense": "X"}, "y": "y", "weight": None, "walks": [walk]}
    return parts


BOMBS: tuple[Bomb, ...] = (
    columns, labels, labels_of_a_path, paths, free_points, kernels, kernel_as_sparse, nodes,
    conversions, headers, holes,
)  # fmt: skip
