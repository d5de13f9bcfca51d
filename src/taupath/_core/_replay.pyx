"""Any solution of a recorded path, computed from the data and the recorded index sets alone.

A record holds no numbers but the kinks: which points are lower, free, upper after each event.
The free θ at t then solve <z_a, w> = p_a(t) for every free a.
"""

cimport cython
import numpy as np
from scipy.linalg.lapack import dpotrf

from taupath._core._bordered cimport FreeSystem, make_system
from taupath._core._factor cimport Factor
from taupath._core._factor import keeps_basis
from taupath._core._line cimport Line
from taupath._core._rows cimport Rows
from taupath._core._status cimport FREE, LOWER, UPPER, status_after, status_before
from taupath._core._tolerances cimport WELL_CONDITIONED

cdef enum:
    BLOCKED_FROM = 32   # free points from which on a blocked Cholesky beats appending one by one
    SPARE = 8           # members that there is room for beyond those that are there
    ANCHORS = 16        # events between positions at which the factor is made anew
    FAR = 64            # events that a sweep does not follow one by one to its next position


cdef inline double between(double at0, double at1, double t) noexcept nogil:
    return at0 * (1.0 - t) + at1 * t


@cython.final
cdef class Replay:
    """The index sets after any number of events, and the solutions they stand for.

    Parameters
    ----------
    rows : Rows
        The z_i.
    line : engine.problem.Line
        What was walked.
    record : engine.solver.Record
        The index sets along the way.
    """

    cdef Rows rows
    cdef Line line
    cdef FreeSystem system
    cdef Factor factor                       # the system's
    cdef const signed char[::1] first_status
    cdef const int[::1] first_free
    cdef const int[::1] index
    cdef const signed char[::1] move
    cdef signed char[::1] status
    cdef Py_ssize_t position                 # events that are applied
    cdef Py_ssize_t n_free                   # the factor has fewer members if some are dependent
    cdef bint built                          # the factor is that of the free points
    cdef bint summed                         # so is what the bound points contribute:
    cdef long double[::1] bound0, bound1     # their Σ θ_i z_i at t = 0 and at t = 1
    cdef bint carrying                       # the last solution is there to go on from:
    cdef long double[::1] free_part          # its Σ θ_a z_a over the free points, and shift
    cdef long double[::1] theta_of           # its free θ, by point
    cdef long double[::1] exact, coef        # scratch space of a sweep: w and the free θ
    cdef double[::1] rhs                     # ... and their targets
    cdef int[::1] some                       # scratch space of sums over bound points: which,
    cdef long double[::1] at                 # ... and their θ

    def __init__(self, Rows rows, line, record):
        self.rows, self.line = rows, Line(line)
        self.first_status, self.first_free = record.status, record.free
        self.index, self.move = record.index, record.move
        self.status = np.array(record.status)
        self.system = make_system(rows, len(record.free) + SPARE)
        self.factor = self.system.factor
        self.exact = None               # until there is a sweep
        self.coef, self.rhs = np.zeros(0, dtype=np.longdouble), np.zeros(0)
        self.some = np.zeros(rows.n_rows + 1, dtype=np.int32)
        self.at = np.zeros(rows.n_rows + 1, dtype=np.longdouble)

    @property
    def squared_norms(self):
        """The squared length of every row."""
        return np.asarray(self.factor.squared_norm)

    # -- index sets -----------------------------------------------------------------------------

    def seek(self, Py_ssize_t position):
        """Go to the index sets after `position` events.

        The factor is made anew at every ANCHORS-th position and updated from there, so what is read
        does not depend on what was read before.
        """
        cdef Py_ssize_t anchor = position - position % ANCHORS
        if not self.built or not anchor <= self.position <= position:
            self._set_sets(anchor)
            self._build()
        self._step_to(position)
        if self.factor.size != self.n_free:
            self._build()
            self.built = False          # for other positions

    cdef _set_sets(self, Py_ssize_t position):
        """Set the statuses to those after `position` events."""
        cdef Py_ssize_t k
        if position < self.position - position:
            self.status[:] = self.first_status
            self.position = 0
        for k in range(self.position, position):
            self.status[self.index[k]] = <signed char> status_after(self.move[k])
        for k in range(self.position - 1, position - 1, -1):
            self.status[self.index[k]] = <signed char> status_before(self.move[k])
        self.position = position

    cdef _empty_factor(self, Py_ssize_t n_free):
        """Begin with no members, and room for so many."""
        self.summed = self.carrying = False
        self.n_free = n_free
        self.factor.size = 0
        self.factor.stale = False
        if n_free + SPARE > self.factor.capacity:
            self.factor.reserve(n_free + SPARE + (n_free + SPARE) // 4)

    cdef _build(self):
        """Factor the free points."""
        cdef const int[::1] members = np.flatnonzero(np.equal(self.status, FREE)).astype(np.int32)
        cdef Py_ssize_t a, m = members.shape[0]
        self._empty_factor(m)
        self.built = True
        if m >= BLOCKED_FROM and not keeps_basis(self.rows):
            L, info = dpotrf(self.rows.gram(members).T, lower=0, overwrite_a=1)
            diagonal = L.diagonal()
            if info == 0 and diagonal.min() > WELL_CONDITIONED * diagonal.max():
                self.factor.load(members, L.T)
                return
        for a in range(m):
            if self.factor.append(members[a]) == 0.0:
                self._retrace()
                return

    cdef _retrace(self):
        """Follow all events in their order: the same pivots as on the walk."""
        cdef Py_ssize_t a, position = self.position
        self.status[:] = self.first_status
        self.position = 0
        self._empty_factor(self.first_free.shape[0])
        for a in range(self.first_free.shape[0]):
            self.factor.append(self.first_free[a])
        self._step_to(position)

    cdef _step_to(self, Py_ssize_t position):
        while self.position < position:
            self._change(self.index[self.position], status_after(self.move[self.position]))
            self.position += 1
        while self.position > position:
            self.position -= 1
            self._change(self.index[self.position], status_before(self.move[self.position]))

    cdef _change(self, int i, int status):
        cdef Py_ssize_t a
        if self.summed:
            self._count_bound(i, self.status[i], -1.0)
            self._count_bound(i, status, 1.0)
        if self.carrying:
            self.rows.axpy_long(i, -self.theta_of[i], &self.free_part[0])
            self.theta_of[i] = 0.0
        self.n_free += (status == FREE) - (self.status[i] == FREE)
        self.status[i] = <signed char> status
        if status == FREE:
            if self.factor.size == self.factor.capacity:
                self.factor.reserve(self.factor.capacity + self.factor.capacity // 2)
            self.factor.append(i)
            return
        for a in range(self.factor.size):
            if self.factor.members[a] == i:
                self.factor.remove(a)
                return

    # -- solutions ------------------------------------------------------------------------------

    def solution(self, double t, const double[::1] target):
        """Return status, θ, w and the multiplier at t, with the free margins met at `target`.

        Rounding of t itself can put a free θ beyond a bound that it reaches at this very t. Such
        a point is taken as bound, and the others are solved for again.
        """
        cdef Py_ssize_t i, a, m = 0, worst
        cdef double excess, most
        cdef long double multiplier = 0.0, bound_total = 0.0
        cdef double[::1] theta = np.empty(self.rows.n_rows)
        cdef signed char[::1] status = self._independent_status()
        cdef long double[::1] exact = np.zeros(self.rows.n_cols, dtype=np.longdouble)
        cdef long double[::1] coef = np.zeros(self.factor.size + 1, dtype=np.longdouble)
        cdef double[::1] rhs = np.empty(self.factor.size + 1)
        with nogil:
            for i in range(self.rows.n_rows):
                if status[i] == FREE:
                    continue
                theta[i] = self._bound(i, status[i], t)
                if theta[i] != 0.0:
                    self.some[m] = <int> i
                    self.at[m] = theta[i]
                    m += 1
                    bound_total = bound_total + self.rows.sign[i] * theta[i]
            self.rows.axpys_long(&self.some[0], m, &self.at[0], &exact[0])
        while True:
            m = self.factor.size
            worst = -1
            most = 0.0
            with nogil:
                for a in range(m):
                    rhs[a] = target[self.factor.members[a]]
                self.system.meet(&rhs[0], &coef[0], &exact[0], -bound_total, &multiplier)
                for a in range(m):
                    i = self.factor.members[a]
                    theta[i] = <double> coef[a]
                    excess = max(self._bound(i, LOWER, t) - theta[i],
                                 theta[i] - self._bound(i, UPPER, t))
                    if excess > most:
                        most = excess
                        worst = a
            if worst < 0 or m == self.system.fewest:
                break
            i = self.factor.members[worst]
            status[i] = LOWER if theta[i] < self._bound(i, LOWER, t) else UPPER
            theta[i] = self._bound(i, status[i], t)
            self.rows.axpy_long(i, theta[i] - coef[worst], &exact[0])
            bound_total = bound_total + self.rows.sign[i] * theta[i]
            self.factor.remove(worst)
            self.built = False          # this factor is no longer that of the free points
            for a in range(worst, self.factor.size):
                coef[a] = coef[a + 1]
        self._check_rows()
        return (np.asarray(status), np.asarray(theta), np.asarray(exact, dtype=float),
                float(multiplier))

    def sweep(self, const Py_ssize_t[::1] positions, const double[::1] t, double[:, ::1] w,
              double[:, ::1] theta, double[::1] multiplier):
        """Fill in w, θ (unless None) and the multiplier at each t, by the sets after `positions`.

        Neighbours share most of their work: what the bound points contribute is kept up to date
        from one to the next, and the free θ go on from where they were. A free θ that rounding
        puts beyond its bounds stays there.
        """
        cdef Py_ssize_t k
        cdef long double shift = 0.0
        if self.exact is None:
            self.bound0, self.bound1, self.free_part, self.exact = np.zeros(
                (4, self.rows.n_cols), dtype=np.longdouble)
            self.theta_of = np.zeros(self.rows.n_rows, dtype=np.longdouble)
        for k in range(positions.shape[0]):
            if k == 0 or not -FAR < positions[k] - self.position < FAR:
                self.seek(positions[k])
                self.carrying = False
            else:
                self._step_to(positions[k])
            if self.n_free != self.factor.size or not self.built:
                self.seek(positions[k])
                target = (np.multiply(self.line.target0, 1.0 - t[k])
                          + np.multiply(self.line.target1, t[k]))
                _, theta_k, w_k, multiplier[k] = self.solution(t[k], target)
                np.asarray(w[k])[:] = w_k
                if theta is not None:
                    np.asarray(theta[k])[:] = theta_k
                self.carrying = False
                continue
            if self.factor.stale and not self.factor.rebuild():
                self._retrace()
            if not self.summed:
                self._sum_bounds()
            if not self.carrying:
                shift = 0.0
                self.theta_of[:] = 0.0
                self.free_part[:] = 0.0
            self._go_on(t[k], w[k], None if theta is None else theta[k], &shift)
            self.carrying = True
            multiplier[k] = <double> shift
        self.built = False              # its rounding depends on where the sweep began
        self._check_rows()

    cdef _check_rows(self):
        """Raise the error of a row that could not be computed; the factor is then made again."""
        try:
            self.rows.check()
        except BaseException:
            self.built = self.summed = self.carrying = False
            raise

    cdef _go_on(self, double t, double[::1] w, double[::1] theta, long double* shift):
        """Fill in w and θ (unless None) at t, from the solution before."""
        cdef Py_ssize_t a, m = self.factor.size
        if self.coef.shape[0] <= m:
            self.coef = np.zeros(self.factor.capacity + 1, dtype=np.longdouble)
            self.rhs = np.zeros(self.factor.capacity + 1)
        cdef long double* exact = &self.exact[0]
        cdef long double* coef = &self.coef[0]
        cdef double* rhs = &self.rhs[0]
        cdef int i
        with nogil:
            for a in range(self.rows.n_cols):
                exact[a] = (1.0 - t) * self.bound0[a] + t * self.bound1[a] + self.free_part[a]
            for a in range(m):
                i = self.factor.members[a]
                coef[a] = self.theta_of[i]
                rhs[a] = between(self.line.target0[i], self.line.target1[i], t)
            self.system.meet(rhs, coef, exact,
                             -((1.0 - t) * self.system.bound_total0
                               + t * self.system.bound_total1), shift)
            for a in range(m):
                self.theta_of[self.factor.members[a]] = coef[a]
            for a in range(self.rows.n_cols):
                self.free_part[a] = exact[a] - (1.0 - t) * self.bound0[a] - t * self.bound1[a]
                w[a] = <double> exact[a]
            if theta is not None:
                for a in range(self.rows.n_rows):
                    theta[a] = self._bound(a, self.status[a], t)
                for a in range(m):
                    theta[self.factor.members[a]] = <double> coef[a]

    cdef void _sum_bounds(self) noexcept nogil:
        cdef Py_ssize_t i
        self.system.bound_total0 = 0.0
        self.system.bound_total1 = 0.0
        self._sum_bounds_at(0.0, &self.bound0[0])
        self._sum_bounds_at(1.0, &self.bound1[0])
        for i in range(self.rows.n_rows):
            if self.status[i] != FREE:
                self.system.count_bound(i, self._bound(i, self.status[i], 0.0),
                                        self._bound(i, self.status[i], 1.0))
        self.summed = True

    cdef void _sum_bounds_at(self, double t, long double* v) noexcept nogil:
        """v = Σ θ_i z_i over the bound points at t."""
        cdef Py_ssize_t i, m = 0
        for i in range(self.rows.n_cols):
            v[i] = 0.0
        for i in range(self.rows.n_rows):
            if self.status[i] != FREE:
                self.some[m] = <int> i
                self.at[m] = self._bound(i, self.status[i], t)
                m += self.at[m] != 0.0
        self.rows.axpys_long(&self.some[0], m, &self.at[0], v)

    cdef void _count_bound(self, Py_ssize_t i, int status, double how) noexcept nogil:
        """Point i is at a bound (how = 1) or no longer (how = -1)."""
        cdef double at0, at1
        if status == FREE:
            return
        at0 = how * self._bound(i, status, 0.0)
        at1 = how * self._bound(i, status, 1.0)
        if at0 != 0.0:
            self.rows.axpy_long(i, at0, &self.bound0[0])
        if at1 != 0.0:
            self.rows.axpy_long(i, at1, &self.bound1[0])
        self.system.count_bound(i, at0, at1)

    cdef double _bound(self, Py_ssize_t i, int status, double t) noexcept nogil:
        if status == UPPER:
            return between(self.line.upper0[i], self.line.upper1[i], t)
        return between(self.line.lower0[i], self.line.lower1[i], t)

    cdef _independent_status(self):
        """Return the statuses; free points that are dependent in this factor count as lower."""
        status = np.array(self.status)
        if self.n_free != self.factor.size:
            members = np.asarray(self.factor.members[:self.factor.size])
            status[np.setdiff1d(np.flatnonzero(status == FREE), members)] = LOWER
        return status

    def products(self, const double[::1] w, const int[::1] members):
        """Return <z_i, w> for the members."""
        cdef double[::1] out = np.empty(members.shape[0])
        cdef Py_ssize_t a
        for a in range(members.shape[0]):
            out[a] = self.rows.dot(members[a], &w[0])
        return np.asarray(out)
