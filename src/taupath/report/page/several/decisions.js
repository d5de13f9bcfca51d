// Several classes: probabilities of each case, and what any costs decide.

const names = data.classes;
const k = names.length;
const n = data.count;
const truth = unpack(data.truth);
const size = truth.length; // cases, or groups of identical cases; both are called cases below
const alike = data.alike ? unpack(data.alike) : new Uint32Array(size).fill(1);
const proba = data.parts ? Float64Array.from(unpack(data.proba), (part) => part / data.parts) : unpack(data.proba);
const perClass = new Float64Array(k);
truth.forEach((c, i) => (perClass[c] += alike[i]));

/** The cases that are listed one by one, or null. */
const cases = data.cases && { rows: unpack(data.cases.rows), columns: data.cases.columns };

/** costs[c][j]: what taking class c for class j costs. By default, all mistakes cost the same. */
const usualCosts = () => Array.from(names.keys(), (c) => Array.from(names.keys(), (j) => (c === j ? 0 : 1)));

/** The costs if mistakes on one class cost `times` as much; those of right decisions stay. */
function timesRow(costs, row, times) {
  return costs.map((line, c) => (c === row ? line.map((cost, j) => (j === row ? cost : times * cost)) : line));
}

function expectedCost(i, j, costs) {
  let sum = 0;
  for (let c = 0; c < k; c++) sum += proba[i * k + c] * costs[c][j];
  return sum;
}

/** The class with the least expected cost; of several, the first. */
function decide(i, costs) {
  let best = 0;
  let least = expectedCost(i, 0, costs);
  for (let j = 1; j < k; j++) {
    const cost = expectedCost(i, j, costs);
    if (cost < least) [best, least] = [j, cost];
  }
  return best;
}

/**
 * Decisions about a case while mistakes on class `row` cost from 1 to `high` times as much:
 * [[from, class], ...], the first from 1. The expected cost of each class is a straight line in
 * that factor, and the least of them is followed from corner to corner.
 */
function decisionsAlong(i, costs, row, high) {
  const found = [[1, decide(i, costs)]];
  const slope = (j) => (j === row ? 0 : proba[i * k + row] * costs[row][j]);
  const at = (j, times) => {
    let sum = times * slope(j);
    for (let c = 0; c < k; c++) if (c !== row || j === row) sum += proba[i * k + c] * costs[c][j];
    return sum;
  };
  let [times, now] = found[0];
  for (;;) {
    let next = null;
    for (let j = 0; j < k; j++) {
      if (!(slope(j) < slope(now))) continue;
      const where = times + Math.max(0, at(j, times) - at(now, times)) / (slope(now) - slope(j));
      if (next === null || where < next[0] || (where === next[0] && slope(j) < slope(next[1]))) next = [where, j];
    }
    if (next === null || !(next[0] < high)) return found;
    if (next[0] > times) found.push(next);
    else found[found.length - 1] = [times, next[1]];
    [times, now] = next;
  }
}

/** Counts of decisions by true class, the total cost, the mean per case and its 95 % interval. */
function outcome(costs, decided) {
  const counts = names.map(() => new Float64Array(k));
  let [total, squares] = [0, 0];
  for (let i = 0; i < size; i++) {
    const cost = costs[truth[i]][decided[i]];
    counts[truth[i]][decided[i]] += alike[i];
    total += alike[i] * cost;
    squares += alike[i] * cost ** 2;
  }
  const mean = total / n;
  const half = Z * Math.sqrt(Math.max(0, squares / n - mean ** 2) / n);
  return { counts, total, mean, band: [mean - half, mean + half] };
}

/** The class that costs least if every case is taken for it, and its cost per case. */
function withoutLooking(costs) {
  const found = names.map((_, j) => costs.reduce((sum, line, c) => sum + perClass[c] * line[j], 0) / n);
  const cost = Math.min(...found);
  return { cost, name: names[found.indexOf(cost)] };
}
