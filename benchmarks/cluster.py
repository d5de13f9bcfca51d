"""Approximate paths of rows on a Dask cluster of worker processes, beside one process.

Gaussian rows of two classes that overlap (float32, λ = 1e-4), made on the workers and, the same
numbers, here. An epoch is as many row visits as there are rows. CPU seconds are those of the
process, or of all workers, whatever else the machine does; seconds are those of a clock. A path of
very few rows shows what a round costs beside the work.
"""

import argparse
import json
import os
import sys
from dataclasses import asdict, dataclass
from time import perf_counter, process_time
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import dask.array as da
import distributed
import numpy as np
from common import machine, number, table

from taupath import quantile_path

LAM = 1e-4


@dataclass(frozen=True)
class Row:
    """What was measured; `workers` is 0 for one process without a cluster."""

    n_samples: int
    n_features: int
    workers: int
    partitions: int
    seconds: float
    cpu: float
    nodes: int
    newton_steps: int
    row_visits: int
    rounds: int
    bytes_sent: int
    bytes_received: int


def classes(n_samples: int, n_features: int, partitions: int) -> tuple[da.Array, da.Array]:
    """Return X and y, to be made where they are needed."""
    rng = da.random.default_rng(0)
    chunks = (-(-n_samples // partitions), n_features)
    X = rng.standard_normal((n_samples, n_features), chunks=chunks, dtype=np.float32)
    noise = rng.standard_normal(n_samples, chunks=chunks[0])
    return X, da.where(X.sum(axis=1) / np.sqrt(n_features) + noise > 0.0, 1, -1)


def measure(X: Any, y: Any, tol: float, workers: int, client: distributed.Client | None) -> Row:
    """Measure one path."""
    if client is None:
        X, y = X.compute(scheduler="synchronous"), y.compute(scheduler="synchronous")
    else:
        X, y = client.persist([X, y])
        distributed.wait([X, y])
    cpu, begun = _cpu(client), perf_counter()
    path = quantile_path(X, y, lam=LAM, method="approximate", tol=tol)
    seconds, cpu, counters = perf_counter() - begun, _cpu(client) - cpu, path.counters
    return Row(
        n_samples=X.shape[0],
        n_features=X.shape[1],
        workers=workers,
        partitions=counters.get("partitions", 1),
        seconds=seconds,
        cpu=cpu,
        nodes=counters["nodes"],
        newton_steps=counters["newton_steps"],
        row_visits=counters["row_visits"],
        rounds=counters.get("rounds", 0),
        bytes_sent=counters.get("bytes_sent", 0),
        bytes_received=counters.get("bytes_received", 0),
    )


def _cpu(client: distributed.Client | None) -> float:
    return process_time() if client is None else sum(client.run(process_time).values())


def report(rows: list[Row], about: dict[str, str]) -> list[str]:
    """Return the lines of the printed report."""
    columns = [
        ("n", [str(row.n_samples) for row in rows]),
        ("d", [str(row.n_features) for row in rows]),
        ("workers", [str(row.workers) if row.workers else "none" for row in rows]),
        ("partitions", [str(row.partitions) for row in rows]),
        ("s", [number(row.seconds) for row in rows]),
        ("nodes", [str(row.nodes) for row in rows]),
        ("steps", [str(row.newton_steps) for row in rows]),
        ("epochs", [number(row.row_visits / row.n_samples) for row in rows]),
        ("CPU ns per visit", [number(1e9 * row.cpu / row.row_visits) for row in rows]),
        ("rounds", [str(row.rounds) for row in rows]),
        ("ms per round", [number(_per_round(row, 1e3 * row.seconds)) for row in rows]),
        ("bytes out", [number(_per_round(row, row.bytes_sent)) for row in rows]),
        ("bytes in", [number(_per_round(row, row.bytes_received)) for row in rows]),
    ]
    return [
        *table("Approximate paths on a cluster; bytes are for each round", columns),
        "",
        ", ".join(f"{name} {value}" for name, value in about.items()),
    ]


def _per_round(row: Row, value: float) -> float | None:
    return value / row.rounds if row.rounds else None


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Approximate paths on a Dask cluster.")
    parser.add_argument("--samples", type=int, nargs="+", default=[1000, 200_000])
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--tol", type=float, default=1e-3, help="largest gap of a path")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    rows = []
    for workers in arguments.workers:
        for n in arguments.samples:
            print(f"measuring {n} rows, {workers} workers ...", file=sys.stderr, flush=True)
            data = classes(n, arguments.features, arguments.partitions)
            if workers == 0:
                rows.append(measure(*data, arguments.tol, 0, None))
                continue
            with (
                distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address=":0"
                ) as cluster,
                distributed.Client(cluster) as client,
            ):
                rows.append(measure(*data, arguments.tol, workers, client))
    about = machine("numpy", "dask", "distributed", "taupath")
    if arguments.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "machine": about}, indent=2))
    else:
        print("\n".join(report(rows, about)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
