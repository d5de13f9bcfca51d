// Two classes: how often either class is taken for positive, at every τ, and what that costs.

const [nNegative, nPositive] = data.counts;
const n = nNegative + nPositive;
const [negative, positive] = data.classes;

/**
 * Counts over τ. `when` are the τ after which some decision changes, in order; the pieces between
 * them have no change inside. Piece k holds for when[k - 1] < τ ≤ when[k].
 */
class Counts {
  constructor(events) {
    this.when = unpack(events.when);
    const sums = (first, steps) => {
      const totals = new Float64Array(steps.length + 1).fill(first);
      steps.forEach((step, k) => (totals[k + 1] = totals[k] + step));
      return totals;
    };
    this.falseAlarms = sums(events.begin[0], unpack(events.alarms));
    this.found = sums(events.begin[1], unpack(events.found));
  }

  get pieces() {
    return this.when.length + 1;
  }

  piece(tau) {
    return lowerBound(this.when, tau);
  }

  edge(k) {
    return k <= 0 ? 0 : k > this.when.length ? 1 : this.when[k - 1];
  }

  tpr(k) {
    return this.found[k] / nPositive;
  }

  tnr(k) {
    return 1 - this.falseAlarms[k] / nNegative;
  }
}

const counts = new Counts(data.events);
const others = data.compare.map(({ name, events, both, brier }) => ({
  name, brier, counts: new Counts(events), both: new Counts(both),
}));

// -- what it costs ------------------------------------------------------------------------------

/** The τ of two costs, computed as Python does. */
function tauOf(costFp, costFn) {
  const most = Math.max(costFp, costFn);
  const [fp, fn] = [costFp / most, costFn / most];
  return fp / (fp + fn);
}

/** Mean cost per case where a share `prevalence` is positive. */
function meanCost({ costFp, costFn, prevalence }, falseAlarms, found) {
  return costFp * (1 - prevalence) * (falseAlarms / nNegative) + costFn * prevalence * (1 - found / nPositive);
}

/** Mean cost of the better of two ways to decide without looking, and which that is. */
function withoutLooking({ costFp, costFn, prevalence }) {
  const [all, none] = [costFp * (1 - prevalence), costFn * prevalence];
  return all <= none ? { cost: all, alarm: true } : { cost: none, alarm: false };
}

/** Right alarms less false ones, these weighted by τ / (1 - τ), per case. */
function netBenefit({ prevalence }, own, k, tau) {
  return prevalence * own.tpr(k) - (tau / (1 - tau)) * (1 - prevalence) * (1 - own.tnr(k));
}

// -- how sure that is ---------------------------------------------------------------------------

const Z = 1.959964; // 95 %

/** Wilson's 95 % interval of a share. */
function wilson(count, total) {
  const share = count / total;
  const square = (Z * Z) / total;
  const middle = (share + square / 2) / (1 + square);
  const half = (Math.sqrt((share * (1 - share)) / total + square / (4 * total)) * Z) / (1 + square);
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/** 95 % interval of the mean cost, from those of both rates of mistakes (MOVER). */
function costBand(state, falseAlarms, found) {
  const cost = meanCost(state, falseAlarms, found);
  const parts = [
    [state.costFp * (1 - state.prevalence), falseAlarms, nNegative],
    [state.costFn * state.prevalence, nPositive - found, nPositive],
  ];
  let [below, above] = [0, 0];
  for (const [weight, count, total] of parts) {
    const [low, high] = wilson(count, total);
    below += (weight * (count / total - low)) ** 2;
    above += (weight * (high - count / total)) ** 2;
  }
  return [Math.max(0, cost - Math.sqrt(below)), cost + Math.sqrt(above)];
}

/**
 * What one way to decide costs more than another, per case, with its 95 % interval. Only cases
 * about which they differ matter: `alarms` and `missed` are how many of either class there are.
 */
function differenceBand(state, difference, alarms, missed) {
  const { costFp, costFn, prevalence } = state;
  const variance =
    (costFp * (1 - prevalence)) ** 2 * (alarms / nNegative ** 2) + (costFn * prevalence) ** 2 * (missed / nPositive ** 2);
  const half = Z * Math.sqrt(variance);
  return [difference - half, difference + half];
}

// -- cases --------------------------------------------------------------------------------------

/** Cases that are carried one by one. */
class Cases {
  constructor(packed) {
    this.rows = unpack(packed.rows);
    this.positive = unpack(packed.positive);
    this.proba = unpack(packed.proba);
    this.begin = unpack(packed.begin);
    this.starts = unpack(packed.changeStarts);
    this.changes = unpack(packed.changes);
    this.functions = packed.functions && new LowRank(packed.functions);
    this.features = packed.features && unpack(packed.features);
    this.columns = packed.columns;
  }

  get length() {
    return this.rows.length;
  }

  /** 1 where a case is taken for positive at τ, else 0. */
  decided(i, tau) {
    let decision = this.begin[i];
    for (let k = this.starts[i]; k < this.starts[i + 1] && this.changes[k] < tau; k++) {
      decision = 1 - decision;
    }
    return decision;
  }

  /** All τ within (0, 1) after which the decision about a case changes. */
  flips(i) {
    return Array.from(this.changes.subarray(this.starts[i], this.starts[i + 1])).filter((tau) => tau > 0 && tau < 1);
  }

  /** Whether the decision about a case is not the same throughout [low, high]. */
  wavers(i, low, high) {
    for (let k = this.starts[i]; k < this.starts[i + 1]; k++) {
      if (this.changes[k] >= low && this.changes[k] < high) return true;
    }
    return false;
  }
}

const cases = data.cases && new Cases(data.cases);

const repeats = data.repeats && { counts: unpack(data.repeats.counts), when: unpack(data.repeats.when) };

/** How many cases change within [low, high]; without single cases, at least how many. */
function countWavering(low, high) {
  const [from, to] = [counts.piece(low), counts.piece(high)];
  if (!repeats) {
    return Math.abs(counts.falseAlarms[to] - counts.falseAlarms[from]) + Math.abs(counts.found[to] - counts.found[from]);
  }
  let total = 0;
  for (let k = from; k < to; k++) {
    total += Math.abs(counts.falseAlarms[k + 1] - counts.falseAlarms[k]) + Math.abs(counts.found[k + 1] - counts.found[k]);
  }
  // who changes more than once counts once
  let begin = 0;
  for (const size of repeats.counts) {
    const own = repeats.when.subarray(begin, begin + size);
    total -= Math.max(0, lowerBound(own, high) - lowerBound(own, low) - 1);
    begin += size;
  }
  return total;
}
