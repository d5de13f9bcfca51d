// Two classes: how often either class is taken for positive, at every τ, and what that costs.

const [nNegative, nPositive] = data.counts;
const n = nNegative + nPositive;
const [negative, positive] = data.classes;

/**
 * Counts over τ. `when` are the τ after which some decision changes, in order. Between them the
 * counts are constant: piece k holds for when[k - 1] < τ ≤ when[k].
 */
class Counts {
  constructor(events) {
    this.when = unpack(events.when);
    this.pieces = this.when.length + 1;
    this.falseAlarms = runningTotals(events.begin[0], unpack(events.alarms));
    this.found = runningTotals(events.begin[1], unpack(events.found));
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

/** Mean cost of giving every case the same answer, the cheaper of the two, and whether that is the alarm. */
function withoutLooking({ costFp, costFn, prevalence }) {
  const [all, none] = [costFp * (1 - prevalence), costFn * prevalence];
  return all <= none ? { cost: all, alarm: true } : { cost: none, alarm: false };
}

/** Right alarms less false ones, these weighted by τ / (1 - τ), per case. */
function netBenefit({ prevalence }, own, k, tau) {
  return prevalence * own.tpr(k) - (tau / (1 - tau)) * (1 - prevalence) * (1 - own.tnr(k));
}

// -- how sure that is ---------------------------------------------------------------------------

/** Wilson's 95 % interval of a share. */
function wilson(count, total) {
  const share = count / total;
  const square = (Z * Z) / total;
  const middle = (share + square / 2) / (1 + square);
  const half = (Math.sqrt((share * (1 - share)) / total + square / (4 * total)) * Z) / (1 + square);
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/** 95 % interval of the mean cost, from those of both rates of mistakes (MOVER). */
function costBand(costs, falseAlarms, found) {
  const { costFp, costFn, prevalence } = costs;
  const cost = meanCost(costs, falseAlarms, found);
  const parts = [
    [costFp * (1 - prevalence), falseAlarms, nNegative],
    [costFn * prevalence, nPositive - found, nPositive],
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
 * 95 % interval of what one way to decide costs more than another, per case. Only the cases about
 * which they differ matter: `alarms` of the negative class and `missed` of the positive one.
 */
function differenceBand({ costFp, costFn, prevalence }, difference, alarms, missed) {
  const variance =
    (costFp * (1 - prevalence)) ** 2 * (alarms / nNegative ** 2) + (costFn * prevalence) ** 2 * (missed / nPositive ** 2);
  const half = Z * Math.sqrt(variance);
  return [difference - half, difference + half];
}

// -- cases --------------------------------------------------------------------------------------

/** The cases that are listed one by one. A case is known by its place here; `rows` has its row in the data. */
class Cases {
  constructor(packed) {
    Object.assign(this, unpackAll(packed)); // rows, positive, proba, begin, changeStarts, changes, features
    this.functions = packed.functions && new LowRank(packed.functions);
    this.columns = packed.columns;
    this.length = this.rows.length;
  }

  /** All τ after which the decision about a case changes, in order. */
  ownChanges(i) {
    return this.changes.subarray(this.changeStarts[i], this.changeStarts[i + 1]);
  }

  /** 1 where a case is taken for positive at τ, else 0. */
  decided(i, tau) {
    return (this.begin[i] + lowerBound(this.ownChanges(i), tau)) % 2;
  }

  /** Those of them within (0, 1). */
  flips(i) {
    return Array.from(this.ownChanges(i)).filter((tau) => tau > 0 && tau < 1);
  }

  /** Whether the decision about a case is not the same throughout [low, high]. */
  wavers(i, low, high) {
    return this.ownChanges(i).some((tau) => tau >= low && tau < high);
  }
}

const cases = data.cases && new Cases(data.cases);
// The changes of all cases that change more than once, one case after the other.
const repeats = data.repeats && unpackAll(data.repeats);

/** How many cases change within [low, high]; without single cases, at least how many. */
function countWavering(low, high) {
  const [from, to] = [counts.piece(low), counts.piece(high)];
  const moved = (k, j) => Math.abs(counts.falseAlarms[j] - counts.falseAlarms[k]) + Math.abs(counts.found[j] - counts.found[k]);
  if (!repeats) return moved(from, to);
  let total = 0;
  for (let k = from; k < to; k++) total += moved(k, k + 1);
  // a case that changes several times counts once
  let begin = 0;
  for (const size of repeats.counts) {
    const own = repeats.when.subarray(begin, begin + size);
    total -= Math.max(0, lowerBound(own, high) - lowerBound(own, low) - 1);
    begin += size;
  }
  return total;
}
