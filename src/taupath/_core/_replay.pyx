"""Any solution of a recorded path, computed from the data and the recorded index sets alone.

A record holds no numbers but the kinks: which points are lower, free, upper after each event.
The free θ at t then solve <z_a, w> = p_a(t) for every free a.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf

from taupath._core._factor cimport Factor, OrthogonalFactor
from taupath._core._rows cimport Rows
from taupath._core._status cimport FREE, LOWER, UPPER, status_after, status_before

# Below this many free points, or where the factor keeps a basis, appending one by one is as fast.
cdef Py_ssize_t BLOCKED_FROM = 32


cdef class Replay:
    """The index sets after any number of events, and the solutions they stand for."""

    cdef Rows rows
    cdef Factor factor
    cdef const double[::1] squared_norm
    cdef const double[::1] lower0, lower1, upper0, upper1
    cdef const signed char[::1] first_status
    cdef const int[::1] first_free
    cdef const int[::1] index
    cdef const signed char[::1] move
    cdef signed char[::1] status
    cdef Py_ssize_t n_free
    cdef bint orthogonal, built, summed
    cdef long double[::1] bound0, bound1     # Σ θ_i z_i over the bound points at t = 0, at t = 1
    cdef long double total0, total1          # and Σ sign_i θ_i
    cdef bint carrying                       # the last solution is there to go on from:
    cdef long double[::1] free_part          # its Σ θ_a z_a over the free points, and shift
    cdef long double[::1] theta_of           # its free θ, by point
    cdef readonly Py_ssize_t position        # events that are applied
    cdef readonly Py_ssize_t n_builds

    def __init__(self, Rows rows, const double[::1] squared_norm, line, first_status, first_free,
                 index, move, Py_ssize_t orthogonal_up_to):
        self.rows = rows
        self.squared_norm = squared_norm
        self.lower0, self.lower1 = line.lower0, line.lower1
        self.upper0, self.upper1 = line.upper0, line.upper1
        self.first_status = first_status
        self.first_free = first_free
        self.index = index
        self.move = move
        self.orthogonal = rows.n_cols <= orthogonal_up_to and not rows.dual
        self.status = np.array(first_status)
        self.bound0 = np.zeros(rows.n_cols, dtype=np.longdouble)
        self.bound1 = np.zeros(rows.n_cols, dtype=np.longdouble)
        self.free_part = np.zeros(rows.n_cols, dtype=np.longdouble)
        self.theta_of = np.zeros(rows.n_rows, dtype=np.longdouble)

    def seek(self, Py_ssize_t position):
        """Go to the index sets after `position` events."""
        cdef Py_ssize_t k, distance = abs(position - self.position)
        if self.built and 3 * distance <= self.factor.size:
            self._step_to(position)
            return
        self.built = self.summed = self.carrying = False
        if position < self.position - position:
            self.status[:] = self.first_status
            self.position = 0
        for k in range(self.position, position):
            self.status[self.index[k]] = <signed char> status_after(self.move[k])
        for k in range(self.position - 1, position - 1, -1):
            self.status[self.index[k]] = <signed char> status_before(self.move[k])
        self.position = position
        self._build()

    cdef _new_factor(self, Py_ssize_t capacity):
        """Have a factor without members; the last one's memory will do if it is large enough."""
        if self.factor is not None and capacity <= self.factor.capacity:
            self.factor.size = 0
            self.factor.stale = False
            return
        cls = OrthogonalFactor if self.orthogonal else Factor
        self.factor = cls(self.rows, self.squared_norm, capacity + capacity // 4)

    cdef _build(self):
        """Factor the free points from nothing."""
        members = np.flatnonzero(np.asarray(self.status) == FREE).astype(np.int32)
        cdef Py_ssize_t a, m = len(members)
        cdef const int[::1] view = members
        self.n_free = m
        self._new_factor(m + 8)
        self.built = True
        self.n_builds += 1
        if m >= BLOCKED_FROM and not self.orthogonal:
            L, info = dpotrf(self.rows.gram(members).T, lower=0, overwrite_a=1)
            diagonal = L.diagonal()
            if info == 0 and diagonal.min() > 1e-6 * diagonal.max():
                self.factor.load(members, L.T)
                return
        for a in range(m):
            if self.factor.append(view[a]) == 0.0:
                self._retrace()
                return

    cdef _retrace(self):
        """Follow all events in their order: the same pivots as on the walk."""
        cdef Py_ssize_t a, position = self.position
        self.summed = self.carrying = False
        self.status[:] = self.first_status
        self.position = 0
        self.n_free = self.first_free.shape[0]
        self._new_factor(self.n_free + 8)
        for a in range(self.first_free.shape[0]):
            self.factor.append(self.first_free[a])
        self._step_to(position)

    cdef _step_to(self, Py_ssize_t position):
        cdef Py_ssize_t k
        while self.position != position:
            if self.position < position:
                k = self.position
                self.position += 1
                self._change(self.index[k], status_after(self.move[k]))
            else:
                self.position -= 1
                k = self.position
                self._change(self.index[k], status_before(self.move[k]))

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

    def solution(self, double t, const double[::1] target, double outside=-1.0):
        """Return status, θ, w and the multiplier at t, with the free margins met at `target`.

        Rounding of t itself can put a free θ beyond a bound that it reaches at this very t. Such
        a point is taken as bound, and the others are solved for anew. With `outside` given,
        instead, returns None if a free θ is beyond its bounds by more than this part of its box.
        """
        cdef Py_ssize_t i, a, m, worst
        cdef double excess, most
        theta = np.empty(self.rows.n_rows)
        status = np.array(self.status)
        if self.n_free != self.factor.size:
            self._set_dependent_aside(status)
        cdef long double[::1] exact = np.zeros(self.rows.n_cols, dtype=np.longdouble)
        cdef long double multiplier = 0.0, bound_total = 0.0
        cdef double[::1] th = theta
        cdef long double[::1] coef = np.zeros(self.factor.size + 1, dtype=np.longdouble)
        cdef double[::1] rhs = np.empty(self.factor.size + 1)
        cdef signed char[::1] st = status
        set_aside = []
        with nogil:
            for i in range(self.rows.n_rows):
                if st[i] == FREE:
                    continue
                th[i] = self._lower(i, t) if st[i] == LOWER else self._upper(i, t)
                if th[i] != 0.0:
                    self.rows.axpy_long(i, th[i], &exact[0])
                    bound_total = bound_total + self.rows.sign[i] * th[i]
        while True:
            m = self.factor.size
            worst = -1
            most = 0.0
            with nogil:
                for a in range(m):
                    rhs[a] = target[self.factor.members[a]]
                if self.rows.balanced:
                    self.factor.meet_in_balance(&rhs[0], &coef[0], &exact[0], -bound_total,
                                                &multiplier)
                else:
                    self.factor.meet(&rhs[0], &coef[0], &exact[0])
                for a in range(m):
                    i = self.factor.members[a]
                    th[i] = <double> coef[a]
                    excess = max(self._lower(i, t) - th[i], th[i] - self._upper(i, t))
                    if excess > most:
                        most = excess
                        worst = a
            if worst < 0 or (self.rows.balanced and m == 1):
                break
            if outside >= 0.0:
                i = self.factor.members[worst]
                if most > outside * (self._upper(i, t) - self._lower(i, t)):
                    return None
                break
            i = self.factor.members[worst]
            st[i] = LOWER if th[i] < self._lower(i, t) else UPPER
            th[i] = self._lower(i, t) if st[i] == LOWER else self._upper(i, t)
            self.rows.axpy_long(i, th[i] - coef[worst], &exact[0])
            bound_total = bound_total + self.rows.sign[i] * th[i]
            self.factor.remove(worst)
            for a in range(worst, self.factor.size):
                coef[a] = coef[a + 1]
            set_aside.append(i)
        for i in set_aside:
            self.factor.append(<int> i)
        self.rows.check()
        return status, theta, np.asarray(exact, dtype=float), float(multiplier)

    def sweep(self, const Py_ssize_t[::1] positions, const double[::1] t, line, double[:, ::1] w,
              double[:, ::1] theta, double[::1] multiplier):
        """Fill in w, θ (unless None) and the multiplier at each t, by the sets after `positions`.

        Neighbours share most of their work: what the bound points contribute is kept up to date
        from one to the next, and the free θ go on from where they were. A free θ that rounding puts beyond its bounds stays there.
        """
        cdef Py_ssize_t k, a, m
        cdef long double[::1] exact = np.zeros(self.rows.n_cols, dtype=np.longdouble)
        cdef long double[::1] coef
        cdef double[::1] rhs
        cdef long double shift = 0.0
        cdef const double[::1] target0 = line.target0, target1 = line.target1
        for k in range(positions.shape[0]):
            if k == 0:
                self.seek(positions[k])
                self.carrying = False
            else:
                self._step_to(positions[k])
            if self.n_free != self.factor.size:
                _, theta_k, w_k, multiplier[k] = self.solution(t[k], line.target(t[k]))
                np.asarray(w[k])[:] = w_k
                if theta is not None:
                    np.asarray(theta[k])[:] = theta_k
                self.carrying = False
                continue
            if self.factor.stale and not self.factor.rebuild():
                self._retrace()
            if not self.summed:
                self._sum_bounds()
            m = self.factor.size
            coef = np.zeros(m + 1, dtype=np.longdouble)
            rhs = np.empty(m + 1)
            with nogil:
                if not self.carrying:
                    shift = 0.0
                    self.theta_of[:] = 0.0
                    self.free_part[:] = 0.0
                for a in range(self.rows.n_cols):
                    exact[a] = ((1.0 - t[k]) * self.bound0[a] + t[k] * self.bound1[a]
                                + self.free_part[a])
                for a in range(m):
                    coef[a] = self.theta_of[self.factor.members[a]]
                    rhs[a] = (target0[self.factor.members[a]] * (1.0 - t[k])
                              + target1[self.factor.members[a]] * t[k])
                if self.rows.balanced:
                    self.factor.meet_in_balance(
                        &rhs[0], &coef[0], &exact[0],
                        -((1.0 - t[k]) * self.total0 + t[k] * self.total1), &shift)
                else:
                    self.factor.meet(&rhs[0], &coef[0], &exact[0])
                self.carrying = True
                for a in range(m):
                    self.theta_of[self.factor.members[a]] = coef[a]
                for a in range(self.rows.n_cols):
                    self.free_part[a] = (exact[a] - (1.0 - t[k]) * self.bound0[a]
                                         - t[k] * self.bound1[a])
                multiplier[k] = <double> shift
                for a in range(self.rows.n_cols):
                    w[k, a] = <double> exact[a]
                if theta is not None:
                    for a in range(self.rows.n_rows):
                        theta[k, a] = (self._upper(a, t[k]) if self.status[a] == UPPER
                                       else self._lower(a, t[k]))
                    for a in range(m):
                        theta[k, self.factor.members[a]] = <double> coef[a]
        self.rows.check()

    cdef void _sum_bounds(self) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.rows.n_cols):
            self.bound0[i] = 0.0
            self.bound1[i] = 0.0
        self.total0 = 0.0
        self.total1 = 0.0
        for i in range(self.rows.n_rows):
            self._count_bound(i, self.status[i], 1.0)
        self.summed = True

    cdef void _count_bound(self, Py_ssize_t i, int status, double how) noexcept nogil:
        cdef double at0, at1
        if status == FREE:
            return
        at0 = how * (self.lower0[i] if status == LOWER else self.upper0[i])
        at1 = how * (self.lower1[i] if status == LOWER else self.upper1[i])
        if at0 != 0.0:
            self.rows.axpy_long(i, at0, &self.bound0[0])
            self.total0 = self.total0 + self.rows.sign[i] * at0
        if at1 != 0.0:
            self.rows.axpy_long(i, at1, &self.bound1[0])
            self.total1 = self.total1 + self.rows.sign[i] * at1

    cdef _set_dependent_aside(self, status):
        """Free points that this factor found dependent: the others can stand in for them."""
        missing = np.flatnonzero(status == FREE)
        kept = np.asarray(self.factor.members[:self.factor.size])
        status[np.setdiff1d(missing, kept)] = LOWER

    cdef double _lower(self, Py_ssize_t i, double t) noexcept nogil:
        return self.lower0[i] * (1.0 - t) + self.lower1[i] * t

    cdef double _upper(self, Py_ssize_t i, double t) noexcept nogil:
        return self.upper0[i] * (1.0 - t) + self.upper1[i] * t

    def products(self, const double[::1] w, const int[::1] members):
        """Return <z_i, w> for the members."""
        cdef Py_ssize_t a
        out = np.empty(members.shape[0])
        for a in range(members.shape[0]):
            out[a] = self.rows.dot(members[a], &w[0])
        return out

    @property
    def statuses(self):
        """Status of every point after `position` events."""
        return np.array(self.status)
