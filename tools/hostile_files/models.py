"""Model files, damaged and hostile."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from anatomy import Parts
from bombs import BOMBS
from damages import DAMAGES, harmless
from good_models import save_all
from judging import write

import taupath as tp

# The share of files that are bombs rather than damaged.
BOMBS_SHARE = 0.07


class Maker:
    """Makes model files from good ones, and reads them."""

    refusals = (tp.ModelFileError,)
    complaints = (ValueError, tp.WalkFailed)

    def __init__(self, folder: Path, seed: int) -> None:
        self.seed = seed
        files, self.samples = save_all(folder)
        self.raw = {name: file.read_bytes() for name, file in files.items()}
        self.parts = {name: Parts.of(file) for name, file in files.items()}
        self.right = {name: self.numbers(name, tp.load(file)) for name, file in files.items()}

    def _drawn(self, case: int) -> tuple[str, Any, np.random.Generator]:
        """Return the good file and the damage of a case, or "" and a bomb."""
        rng = np.random.default_rng([self.seed, case])
        if rng.random() < BOMBS_SHARE:
            return "", BOMBS[rng.integers(len(BOMBS))], rng
        name = list(self.parts)[rng.integers(len(self.parts))]
        shares = np.array(list(DAMAGES.values()))
        damage = list(DAMAGES)[rng.choice(len(shares), p=shares / shares.sum())]
        return name, damage, rng

    def make(self, case: int, file: Path) -> str:
        """Write the file of a case and return what is wrong with it."""
        name, damage, rng = self._drawn(case)
        made = damage(self.raw[name], self.parts[name], rng) if name else damage(self.parts, rng)
        write(made, file)
        return f"{damage.__name__}: {name}" if name else f"bomb {damage.__name__}"

    def load(self, file: Path) -> Any:
        """Return what a file holds."""
        return tp.load(file)

    def read(self, case: int, loaded: Any) -> str | None:
        """Predict, and return what is wrong with the numbers, if anything."""
        name, damage, _ = self._drawn(case)
        found = self.numbers(name, loaded)
        if not all(np.isfinite(numbers).all() for numbers in found):
            return "numbers are not finite"
        if damage is harmless:
            same = all(np.array_equal(*pair) for pair in zip(found, self.right[name], strict=True))
            return None if same else "numbers differ from those of the same model"
        return None

    def numbers(self, name: str, model: Any) -> list[np.ndarray]:
        """Return what a model predicts for samples of its kind."""
        samples = self.samples.get(name)
        if samples is None:  # of a bomb: of many paths, one is enough
            model = getattr(model, "paths_", [model])[0]
            width = model.data.shape[1] if hasattr(model, "data") else model.n_features_in_
            samples = sp.csr_array(([1.0], ([0], [0])), shape=(2, width))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _numbers(model, samples)


def _numbers(model: Any, samples: Any) -> list[np.ndarray]:
    if isinstance(model, tp.SolutionPath):
        first, last = model.tau_range
        values = np.array([first, 0.3 * first + 0.7 * last, last])
        found = [model.decision_function(samples, values), model.taus]
        if model.has_data:
            found.append(model.alpha(float(values[1])))
        return found
    if isinstance(model, tp.Model) and model.task == "regress":
        return [model.predict(samples, quantile=[0.2, 0.7])]
    if isinstance(model, tp.QuantileSVR):
        return [model.predict(samples, quantile=[0.2, 0.7])]
    predicted = model.predict(samples)
    known = np.isin(predicted, model.classes_)
    proba = [model.predict_proba(samples)] if hasattr(model, "predict_proba") else []
    return [np.where(known, 0.0, np.nan), *proba]
