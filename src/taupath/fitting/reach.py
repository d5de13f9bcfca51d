"""The range of C, features and targets in which doubles can tell solutions apart."""

import numpy as np

from taupath.paths.extra_rows import ExtraRows
from taupath.paths.training_data import TrainingData
from taupath.validation import shown

# C · weight · ‖x‖² / |y| says how far one sample at its bound moves its own margin, in units of its
# target (which is 1 for classes). Below the first of these, nothing that is learned shows in any
# margin. Beyond the second, margins are differences of terms that are larger than they by more
# than twice the digits of a double.
LEAST_MOVED, MOST_MOVED = 1e-60, 1e30
# Targets below this count as too small: the square of what they are divided by would overflow.
SMALLEST_TARGET = 1e-100
# Margins that constraints ask for, in units of the targets of samples: beyond this, they round by
# more than a ten-thousandth of a target, which hides what samples ask for.
MOST_ASKED = 1e12


def check_reach(C: float, data: TrainingData, name: str = "C") -> None:
    """Refuse a C that is out of all proportion to the features, the weights and the targets."""
    largest = float(np.abs(data.target[data.weight > 0.0]).max())
    if 0.0 < largest < SMALLEST_TARGET:
        raise ValueError(
            f"y is too small: its largest absolute value is {largest:.3g}; multiply it by a "
            "constant"
        )
    bias = 0.0 if data.constant.free else data.constant.bias**2
    squares = float(np.abs(data.squared_norms()).max()) + bias  # absent samples are walked, too
    moved = C * float(data.weight.max()) * squares / (largest or 1.0)
    per = "C · weight · ‖x‖²" + (" / |y|" if data.sign.min() > 0.0 and largest != 1.0 else "")
    if moved > MOST_MOVED:
        raise ValueError(
            f"{name}={shown(C)} is too large for these data: {per} is {moved:.1g}, more than "
            f"{MOST_MOVED:g}; divide X by a constant, or choose a smaller {name}"
        )
    if moved < LEAST_MOVED and data.has_features:
        raise ValueError(
            f"{name}={shown(C)} is too small for these data: {per} is {moved:.1g}, less than "
            f"{LEAST_MOVED:g}; multiply X by a constant, or choose a larger {name}"
        )


def check_asked(extra: ExtraRows, unit: float) -> None:
    """Refuse a constraint that asks for weights out of all proportion; `unit` is that of targets.

    Bounds that w = 0 meets may be as far off as they like.
    """
    target = extra.line.target0 / unit
    asked = np.where(extra.line.lower0 < 0.0, np.abs(target), target)
    asked[~extra.hard] = 0.0
    k = int(asked.argmax())
    if not asked[k] <= MOST_ASKED:
        raise ValueError(
            f"{extra.name[k]} is too far from zero for these data: it asks for margins of "
            f"{asked[k]:.1g} times their targets, more than {MOST_ASKED:g}; choose a nearer bound"
        )
