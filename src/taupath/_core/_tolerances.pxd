"""The tolerances of the factor, the walk and the replay: what each decides, and why its value.

Doubles have a precision of 2.2e-16. A slack is a sum of many products, in which errors of 1e-13
are common and 1e-12 has been seen; targets are raised by 1e-10 to stay clear of that.
"""

cdef extern from *:
    """
    /* -- the factor ------------------------------------------------------------------------- */

    /* A squared distance is a difference of squares and keeps 16 digits less those that cancel.
       Below this part of ‖z‖² it is taken from the residual vector instead: 12 digits remain. */
    #define PIVOT_CANCELLED 1e-4
    /* A row nearer than this part of its length to the span of an orthonormal basis is dependent:
       projecting twice leaves 1e-15, times the number of members. */
    #define DEPENDENT_ON_BASIS 1e-12
    /* Refinement of a solve ends at this residual, relative to its terms: two units of rounding. */
    #define SOLVED 4e-16
    /* The sum of signed coefficients is met up to this part of its terms: sums have 64 bits. */
    #define BALANCED 1e-17
    /* A first round of refinement that leaves more than this part of a residual shows that updates
       have cost the factor all but five digits: factor anew. */
    #define STALE 1e-5
    /* ... unless the residual is invisible beside the terms of the sum. */
    #define STALE_VISIBLE 1e-12
    /* A blocked Cholesky factor is taken if its smallest diagonal entry is above this part of its
       largest: a solve then keeps about four digits, and refinement finds the others. */
    #define WELL_CONDITIONED 1e-6

    /* -- the motion ------------------------------------------------------------------------- */

    #define PRECISION 2.2e-16
    /* ‖ẇ‖ below this part of the terms it is summed from is nothing but rounding, so ẇ = 0. */
    #define FLAT 1e-14
    /* ‖ẇ‖² is updated by differences. Below this part of the last value that was computed directly,
       six digits have cancelled: compute it directly again. */
    #define SPEED_CANCELLED 1e-6
    /* ‖ẇ‖ below this part of its terms, or θ̇ below this part of what was added to it since it was
       last solved for: four digits have cancelled, solve for both. */
    #define DIRECTION_CANCELLED 1e-4
    /* The same if a free row is within this part of its length of the span of others: the Gram
       matrix squares this, and four digits are lost again. */
    #define NEARLY_DEPENDENT 1e-2
    /* While w rests, rounding in θ̇ may change margins by this before θ̇ is solved for again:
       a hundredth of what the targets are raised by. */
    #define MARGIN_DRIFT 1e-12
    /* Lengths and speeds that bound others are rounded up by this, far above their own rounding. */
    #define ROUNDED_UP (1.0 + 1e-9)

    /* Rounding errors of a sum add up to about this part of what they can be at most. */
    #define AVERAGED 0.1

    /* -- the search ------------------------------------------------------------------------- */

    /* A rate below this part of ‖z_i‖‖ẇ‖ is rounding: the point moves along with the free ones. */
    #define STILL 1e-11
    /* So is one below this part of ‖z_i‖ Σ |θ̇_a| ‖z_a‖: ẇ is summed with 64 bits. */
    #define STILL_SUMMED 1e-17
    /* A free θ rests relative to its bound below this part of the largest rate of a bound. */
    #define RESTING 1e-13
    /* Whether a free θ is the next to meet a bound is clear in doubles if it is farther from it by
       then than this part of the terms. Otherwise extended precision decides. */
    #define CLEARLY_LATER 1e-14
    /* Deadlines are early by this, so that rounding in a distance does not make a point late. */
    #define EARLY (1.0 - 1e-9)
    /* Distances of w are rounded up by this: sums of squares over at most 128 columns lose less
       than three digits. */
    #define FARTHER (1.0 + 1e-12)

    /* -- the walk --------------------------------------------------------------------------- */

    /* Newton's step on the time of an event is made up to this length: a hundred units of rounding
       in t. A longer one is no correction of rounding. */
    #define LONGEST_CORRECTION 1e-14
    /* A slack, or a θ as part of the widest box, on the wrong side by more than this is wrong:
       ten times what the targets are raised by. */
    #define WRONG_SIDE 1e-9
    /* The same for a free θ that was within its box until w was summed anew: a tenth of what is
       promised, and the point leaves the free set at the next event. With a million rows, sums
       round by 1e-11, and nearly dependent free rows make that 1e-9 of θ. */
    #define CORRECTED_BEYOND 1e-8
    /* What makes a stretch doubtful, so that it is looked at again: a free row that is closer to
       the span of the others than this part of its length; a solve that leaves this part of its
       terms; a margin of the longest row that may round by this much, or has drifted by this; an
       end at t = 1 so near that the rounding of t is 1e-5 of the boxes that close there. */
    #define DOUBTFUL_PIVOT 1e-5
    #define DOUBTFUL_SOLVE 1e-13
    #define DOUBTFUL_NOISE 1e-12
    #define DOUBTFUL_DRIFT 1e-7
    #define DOUBTFUL_END 2e-11
    /* A free row closer than this part of its length to the span of the others leaves less than
       half of the digits. */
    #define HALF_OF_THE_DIGITS 1e-8
    /* At distance d from the span of the free rows, no slack has a rate above d ‖ẇ‖. One above this
       multiple of it is rounding. */
    #define IMPOSSIBLE_RATE 1.01
    /* A linear dependence does not involve points with less than this part of its largest
       coefficient. */
    #define NOT_INVOLVED 1e-9
    /* Drift of w from refresh to refresh, times the longest row: refresh more often above the
       first, half of what the targets are raised by, less often below the second. */
    #define DRIFTED 5e-11
    #define STEADY 1e-11
    """
    const double PIVOT_CANCELLED, DEPENDENT_ON_BASIS, SOLVED, BALANCED, STALE, STALE_VISIBLE
    const double WELL_CONDITIONED
    const double PRECISION, FLAT, SPEED_CANCELLED, DIRECTION_CANCELLED, NEARLY_DEPENDENT
    const double MARGIN_DRIFT, ROUNDED_UP, AVERAGED
    const double STILL, STILL_SUMMED, RESTING, CLEARLY_LATER, EARLY, FARTHER
    const double DOUBTFUL_PIVOT, DOUBTFUL_SOLVE, DOUBTFUL_NOISE, DOUBTFUL_DRIFT, DOUBTFUL_END
    const double HALF_OF_THE_DIGITS
    const double LONGEST_CORRECTION, WRONG_SIDE, CORRECTED_BEYOND, IMPOSSIBLE_RATE, NOT_INVOLVED
    const double DRIFTED, STEADY
