"""Tolerances of the engine, by what they decide; those of the core: `_core/_tolerances.pxd`."""

# What is promised of exact solutions: the largest relative gap, with room above the 2 δ that raised
# targets cause, and the largest violation of a condition of optimality. Violations get more: a
# single margin rounds worse than the sum of all in the objective.
EXACT_GAP, EXACT_KKT = 1e-9, 1e-7
# Largest error of a solution by its index sets: a little less than what is promised of the gap,
# since a certificate adds rounding to what it measures.
RIGHT = 0.9 * EXACT_GAP
# δ, by which targets are raised to break ties: large against rounding in a slack (1e-13 is common,
# 1e-12 has been seen), small against the promised gap of 1e-9.
RAISE = 1e-10
# A correction starts from targets this far beyond the margins of bound points on the wrong side,
# relative to the margin: as far as raised targets keep points apart.
BEYOND_MARGIN = 1e-10
# A state with margins beyond this cannot be corrected: its squares would overflow.
ABSURD_MARGIN = 1e100
# Weights of one sign count as outweighing the other's if they fall short by at most this part: the
# rounding of their sums.
OUTWEIGHED = 1e-15
# Part of the mean diagonal entry that is added to the scaled second moments. It keeps R far from
# singular: its condition number is at most 1e4 √d, and LENGTH_ROUNDED_UP covers what rounding can
# then do to a length.
METRIC_RIDGE = 1e-8
LENGTH_ROUNDED_UP = 1.0 + 1e-6
# Least size of a column, as part of its largest entry, so that rows that alone have it do not
# become so long that squares overflow.
ABSENT_COLUMN = 1e-30
