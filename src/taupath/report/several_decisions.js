// Several classes: probabilities of each case, and what any costs decide.

const names = data.classes;
const k = names.length;
const n = data.count;
const truth = unpack(data.truth);
const size = truth.length; // cases, or groups of cases alike
const alike = data.alike ? unpack(data.alike) : new Uint32Array(size).fill(1);
const proba = data.parts ? Float64Array.from(unpack(data.proba), (part) => part / data.parts) : unpack(data.proba);
const perClass = new Float64Array(k);
truth.forEach((i, row) => (perClass[i] += alike[row]));

/** Cases that are carried one by one, or null. */
const cases = data.cases && { rows: unpack(data.cases.rows), columns: data.cases.columns };

/** costs[i][j]: what taking class i for class j costs. */
const usualCosts = () => Array.from({ length: k }, (_, i) => Array.from({ length: k }, (_, j) => (i === j ? 0 : 1)));

/** The costs where mistakes on one class cost so many times as much; right decisions stay as they are. */
function timesRow(costs, row, times) {
  return costs.map((line, i) => (i === row ? line.map((cost, j) => (j === row ? cost : times * cost)) : line));
}

function expected(row, j, costs) {
  let sum = 0;
  for (let i = 0; i < k; i++) sum += proba[row * k + i] * costs[i][j];
  return sum;
}

/** The class with the least expected cost; of several, the first. */
function decide(row, costs) {
  let best = 0;
  let least = expected(row, 0, costs);
  for (let j = 1; j < k; j++) {
    const cost = expected(row, j, costs);
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

/** Counts of the classes that cases are taken for, their cost per case, and its spread. */
function outcome(costs, decided) {
  const counts = names.map(() => new Float64Array(k));
  let [total, squares] = [0, 0];
  for (let row = 0; row < size; row++) {
    const [i, j] = [truth[row], decided[row]];
    counts[i][j] += alike[row];
    total += alike[row] * costs[i][j];
    squares += alike[row] * costs[i][j] ** 2;
  }
  const mean = total / n;
  const deviation = Math.sqrt(Math.max(0, squares / n - mean ** 2));
  return { counts, mean, total, band: 1.96 * deviation / Math.sqrt(n) };
}

/** The class that costs least if every case is taken for it. */
function withoutLooking(costs) {
  const found = names.map((_, j) => costs.reduce((sum, line, i) => sum + perClass[i] * line[j], 0) / n);
  const best = found.indexOf(Math.min(...found));
  return { cost: found[best], best };
}
