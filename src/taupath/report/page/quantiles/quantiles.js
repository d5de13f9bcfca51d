// Quantile regression: predicted quantiles of cases, rearranged, and what follows for all cases.

/**
 * Functions of τ, each rearranged: the increasing function that takes the same values (Chernozhukov,
 * Fernández-Val and Galichon 2010), computed when it is first asked for.
 */
class Quantiles extends LowRank {
  constructor(packed) {
    super(packed);
    this.known = []; // by index: levels and values
  }

  value(i, tau) {
    this.known[i] ??= rearranged(this.taus, this.values(i));
    const [levels, values] = this.known[i];
    return interpolate(levels, values, tau);
  }
}

// A step that rises by less than this part of the range is flat: dividing by its rise would overflow.
const FLAT = 1e-9;

/** Levels and values of the quantile function of a piecewise linear function of a uniform τ. */
function rearranged(taus, values) {
  const size = taus.length;
  if (values.every((value, k) => k === 0 || value >= values[k - 1])) return [taus, values];
  const order = Array.from(values.keys()).sort((i, j) => values[i] - values[j]);
  const place = new Int32Array(size);
  order.forEach((i, k) => (place[i] = k));
  const density = new Float64Array(size); // share of τ per unit of value, as it changes
  const jump = new Float64Array(size); // share of τ at a value
  const range = values[order[size - 1]] - values[order[0]];
  for (let k = 1; k < size; k++) {
    const width = taus[k] - taus[k - 1];
    const rise = Math.abs(values[k] - values[k - 1]);
    const [first, last] = [Math.min(place[k - 1], place[k]), Math.max(place[k - 1], place[k])];
    if (rise <= FLAT * range) {
      jump[last] += width;
    } else {
      density[first] += width / rise;
      density[last] -= width / rise;
    }
  }
  const levels = new Float64Array(2 * size);
  const sorted = new Float64Array(2 * size);
  let level = 0;
  let share = 0;
  for (let k = 0; k < size; k++) {
    const value = values[order[k]];
    if (k > 0) level += Math.max(share, 0) * (value - values[order[k - 1]]);
    [levels[2 * k], sorted[2 * k]] = [level, value];
    level += jump[k];
    [levels[2 * k + 1], sorted[2 * k + 1]] = [level, value];
    share += density[k];
  }
  for (let k = 0; k < 2 * size; k++) levels[k] /= level;
  return [levels, sorted];
}

const below = unpack(data.below);
const upTo = unpack(data.upTo);
const n = data.count;
const target = data.target ?? "y"; // what is predicted
const means = unpackAll(data.means);
const constant = unpackAll(data.constant);
const functions = data.functions && new Quantiles(data.functions);

/** The cases that are listed one by one, or null: the first of the functions are theirs. */
const cases = data.cases && { ...unpackAll(data.cases), columns: data.cases.columns };
const m = cases ? cases.rows.length : 0;

/** Share of cases that are at most their predicted quantile, and share below it. */
const shareUpTo = (tau) => upperBound(below, tau) / n;
const shareBelow = (tau) => lowerBound(upTo, tau) / n;

/** Mean over all cases of the predicted quantile. */
const meanQuantile = (tau) => interpolate(means.taus, means.quantile, tau);

/** Cost per case, with these costs of being too high or too low by 1, from mean excess and shortfall at τ. */
const costOf = ({ taus, over, under }, tau, costOver, costUnder) =>
  costOver * interpolate(taus, over, tau) + costUnder * interpolate(taus, under, tau);

/** Mean pinball loss of the predicted quantiles (`means`), or of the best single number (`constant`). */
const pinball = (way, tau) => costOf(way, tau, 1 - tau, tau);

/** Share of cases within the central interval, and its mean width. */
function interval(coverage) {
  const [low, high] = [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage];
  return { low, high, share: shareUpTo(high) - shareBelow(low), width: meanQuantile(high) - meanQuantile(low) };
}
