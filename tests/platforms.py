"""What tests expect where long double is no wider than double."""

import pytest
from taupath._core._rows import SUM_BITS

# Large C, or a function through nearly all samples: rounding of a plain double is too much there.
# Nobody relies on these to fail, so they may pass.
needs_extended_sums = pytest.mark.xfail(
    SUM_BITS < 64, reason="long double has no more bits than double here", strict=False
)
