"""Fixtures shared by all tests."""

import importlib
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from browser_page import Page, running_browser
from command_files import write_files
from taupath.datasets import PaperData, load_paper

# The same examples in every run, and no complaint about a slow one: the machine may be busy.
settings.register_profile(
    "reproducible",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("reproducible")


@pytest.fixture(autouse=True)
def numpy_warns() -> Iterator[None]:
    """NumPy's warnings are errors in every test: none may turn them off for those after it."""
    before = np.geterr()
    yield
    after = np.geterr()
    np.seterr(**before)
    assert after == before


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of data sets; tests that need it are skipped without one."""
    folder = os.environ.get("TAUPATH_DATA")
    if not folder:
        pytest.skip("needs data: set TAUPATH_DATA to the folder that holds them")
    return Path(folder)


@pytest.fixture(scope="session")
def paper_data(data_dir: Path) -> Callable[[str], PaperData]:
    """A function from a name of the paper's Table 1 to its data, each read once."""
    return cache(lambda name: load_paper(name, data_dir))


@pytest.fixture(scope="session")
def command_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small files and models of them, which tests only read."""
    return write_files(tmp_path_factory.mktemp("files"))


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A function that imports a benchmark by name, as `python benchmarks/name.py` would."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")
    return importlib.import_module


@pytest.fixture
def no_figures_left() -> Iterator[None]:
    """Close what a test has drawn; none before it has left anything open."""
    import matplotlib.pyplot as plt

    assert plt.get_fignums() == []
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, one for all tests of a process; tests that need it are skipped without one."""
    yield from running_browser()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Page]]:
    """Open reports; afterwards nothing may have gone wrong, nor been fetched."""
    pages: list[Page] = []

    def open_one(file: Path, fragment: str = "", **settings: Any) -> Page:
        pages.append(Page(browser, file, fragment, **settings))
        return pages[-1]

    yield open_one
    for page in pages:
        page.context.close()
        assert page.wrong == []
        assert {address.split("#")[0] for address in page.requests} == {page.address}
