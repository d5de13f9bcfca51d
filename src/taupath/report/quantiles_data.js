// Quantile regression: predicted quantiles of cases, put in order, and what follows for all cases.

/**
 * Functions of τ, each put in order: the increasing one with the same values (Chernozhukov,
 * Fernández-Val and Galichon 2010), computed when it is first asked for.
 */
class Quantiles {
  constructor(packed) {
    this.functions = new LowRank(packed);
    this.error = packed.error;
    this.sampled = packed.sampled;
    this.known = new Array(this.functions.length);
  }

  value(i, tau) {
    this.known[i] ??= rearranged(this.functions.taus, this.functions.values(i));
    const [levels, values] = this.known[i];
    return interpolate(levels, values, tau);
  }
}

/** Levels and values of the quantile function of a piecewise linear function of a uniform τ. */
function rearranged(taus, values) {
  const FLAT = 1e-9; // of the range: a step that rises by less is flat
  const n = taus.length;
  if (values.every((value, k) => k === 0 || value >= values[k - 1])) return [taus, values];
  const order = Array.from(values.keys()).sort((i, j) => values[i] - values[j]);
  const place = new Int32Array(n);
  order.forEach((i, k) => (place[i] = k));
  const density = new Float64Array(n); // share of τ per unit of value, as it changes
  const jump = new Float64Array(n); // share of τ at a value
  const size = values[order[n - 1]] - values[order[0]];
  for (let k = 1; k < n; k++) {
    const width = taus[k] - taus[k - 1];
    const rise = Math.abs(values[k] - values[k - 1]);
    const [first, last] = [Math.min(place[k - 1], place[k]), Math.max(place[k - 1], place[k])];
    if (rise <= FLAT * size) {
      jump[last] += width;
    } else {
      density[first] += width / rise;
      density[last] -= width / rise;
    }
  }
  const levels = new Float64Array(2 * n);
  const sorted = new Float64Array(2 * n);
  let level = 0;
  let share = 0;
  for (let k = 0; k < n; k++) {
    const value = values[order[k]];
    if (k > 0) level += Math.max(share, 0) * (value - values[order[k - 1]]);
    [levels[2 * k], sorted[2 * k]] = [level, value];
    level += jump[k];
    [levels[2 * k + 1], sorted[2 * k + 1]] = [level, value];
    share += density[k];
  }
  for (let k = 0; k < 2 * n; k++) levels[k] /= level;
  return [levels, sorted];
}

const below = unpack(data.below);
const upTo = unpack(data.upTo);
const n = data.count;
const target = data.target ?? "y"; // what is predicted
const unpackAll = (packed) => Object.fromEntries(Object.entries(packed).filter(([, value]) => value.bytes).map(([name, value]) => [name, unpack(value)]));
const means = unpackAll(data.means);
const constant = unpackAll(data.constant);
const functions = data.functions && new Quantiles(data.functions);

/** Cases that are carried one by one, or null: the first of the functions are theirs. */
const cases = data.cases && { rows: unpack(data.cases.rows), y: unpack(data.cases.y), columns: data.cases.columns };
const m = cases ? cases.rows.length : 0;

const meanAt = (name, tau) => interpolate(means.taus, means[name], tau);

/** Share of cases that are at most their predicted quantile, and share below it. */
const shareUpTo = (tau) => upperBound(below, tau) / n;
const shareBelow = (tau) => lowerBound(upTo, tau) / n;

/** Mean loss where the mean excess counts (1 - τ) and the mean shortfall τ. */
const pinball = (tau) => (1 - tau) * meanAt("over", tau) + tau * meanAt("under", tau);

/** Cost per case of the τ-quantile, and of the same number for all cases, the best there is. */
const costOf = (state, tau = state.tau) => state.costOver * meanAt("over", tau) + state.costUnder * meanAt("under", tau);
const constantCost = (state) => state.costOver * interpolate(constant.taus, constant.over, state.tau) + state.costUnder * interpolate(constant.taus, constant.under, state.tau);

/** Share of cases within the central interval, and its mean width. */
function interval(coverage) {
  const [low, high] = [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage];
  return { low, high, share: shareUpTo(high) - shareBelow(low), width: meanAt("quantile", high) - meanAt("quantile", low) };
}
