// The page of quantile regression: from what being too high or too low costs, to the quantile.

/**
 * Functions of τ, each put in order: the increasing one with the same values (Chernozhukov,
 * Fernández-Val and Galichon 2010), computed when it is first asked for.
 */
class Quantiles {
  constructor(packed) {
    this.functions = new LowRank(packed);
    this.error = packed.error;
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
const means = {
  taus: unpack(data.means.taus), over: unpack(data.means.over), under: unpack(data.means.under), quantile: unpack(data.means.quantile),
};
const cases = {
  rows: unpack(data.cases.rows), y: unpack(data.cases.y), functions: new Quantiles(data.cases.functions), columns: data.cases.columns,
};
const m = cases.rows.length;
const state = { tau: data.tau, costOver: 1, costUnder: 1, coverage: 0.8, fan: 0 };

/** Share of cases that are at most their predicted quantile, and share below it. */
const shareUpTo = (tau) => upperBound(below, tau) / n;
const shareBelow = (tau) => lowerBound(upTo, tau) / n;

/** Mean loss where the mean excess counts (1 - τ) and the mean shortfall τ. */
function pinball(tau) {
  return (1 - tau) * interpolate(means.taus, means.over, tau) + tau * interpolate(means.taus, means.under, tau);
}

function cost(tau) {
  return state.costOver * interpolate(means.taus, means.over, tau) + state.costUnder * interpolate(means.taus, means.under, tau);
}

/** Share of cases within the central interval, and its mean width. */
function interval(coverage) {
  const [low, high] = [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage];
  return {
    low, high,
    share: shareUpTo(high) - shareBelow(low),
    width: interpolate(means.taus, means.quantile, high) - interpolate(means.taus, means.quantile, low),
  };
}


// -- what the reader may change -----------------------------------------------------------------

function setTau(tau) {
  state.tau = tau;
  const sum = state.costOver + state.costUnder;
  [state.costUnder, state.costOver] = [tau * sum, (1 - tau) * sum];
  update(false);
}

function setCosts(over, under) {
  if (over + under <= 0) return "one of the two has to cost something";
  [state.costOver, state.costUnder] = [over, under];
  state.tau = under / (over + under);
  update(false);
  return "";
}

const overField = numberField({
  label: "Too high by 1 costs", id: "cost-over", min: 0, max: 1e12, hint: "predicted more than came",
  take: (value) => setCosts(value, state.costUnder),
});
const underField = numberField({
  label: "Too low by 1 costs", id: "cost-under", min: 0, max: 1e12, hint: "predicted less than came",
  take: (value) => setCosts(state.costOver, value),
});
const coverageField = numberField({
  label: "Interval to contain", id: "coverage", min: 1, max: 99, unit: "%", hint: "of all cases, as much left out on either side",
  take: (value) => {
    state.coverage = value / 100;
    update(true);
  },
});
const control = new TauControl({
  label: "τ, the quantile that is predicted",
  low: "too high costs more: predict little", high: "too low costs more: predict much",
  changes: below, take: setTau, step: "a case changes sides",
});

// -- what is shown ------------------------------------------------------------------------------

const headline = element("p", { class: "headline live", id: "headline" });
const METRICS = [
  ["above", "Cases above the prediction", () => `${sayCount(n * (1 - shareUpTo(state.tau)))} of ${sayCount(n)}`],
  ["share", "Share at or below it", () => percent(shareUpTo(state.tau), 2)],
  ["loss", "Pinball loss", () => say(pinball(state.tau), 4)],
  ["covered", "Cases within the interval", () => percent(interval(state.coverage).share, 2)],
  ["width", "Mean width of the interval", () => say(interval(state.coverage).width, 4)],
  ["mean", "Mean prediction", () => say(interpolate(means.taus, means.quantile, state.tau), 4)],
];
const metricCells = {};
const metrics = element("dl", { class: "metrics" }, ...METRICS.map(([id, name]) => {
  metricCells[id] = element("dd", { id: `metric-${id}` });
  return element("div", {}, element("dt", {}, name), metricCells[id]);
}));

function showHeadline() {
  const above = n - upperBound(below, state.tau);
  const inside = interval(state.coverage);
  const first = `At τ = ${say(state.tau)}, ${sayCount(above)} of ${sayCount(n)} cases lie above the prediction (${percent(above / n)}; ${percent(1 - state.tau)} should)`;
  const rest = `expected cost ${say(cost(state.tau))} per case; the interval meant for ${percent(state.coverage, 0)} contains ${percent(inside.share)} of the cases`;
  headline.replaceChildren(element("b", {}, first), `; ${rest}.`);
  announce(`${first}; ${rest}.`);
  return `${first}; ${rest}`;
}

// -- charts -------------------------------------------------------------------------------------

const LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95];

/** Cases in the order of their predicted medians, as a fan of its own. */
function orderFan() {
  const median = Array.from({ length: m }, (_, i) => cases.functions.value(i, 0.5));
  const order = Array.from(median.keys()).sort((i, j) => median[i] - median[j]);
  const most = 400; // lines through more points than these cannot be told apart
  const shown = order.length <= most ? order : Array.from({ length: most }, (_, k) => order[Math.floor((k * (order.length - 1)) / (most - 1))]);
  const place = new Map(order.map((i, k) => [i, k + 1]));
  return {
    name: "cases in the order of their predicted medians",
    separate: true, // a case by itself, not a point of a curve
    xs: shown.map((i) => place.get(i)),
    value: (k, tau) => cases.functions.value(shown[k], tau),
    points: cases.y.length <= 2000 ? order.map((i) => [place.get(i), cases.y[i]]) : shown.map((i) => [place.get(i), cases.y[i]]),
    error: cases.functions.error,
  };
}

/** Over one feature, while the others stay at their medians. */
function featureFans() {
  if (!data.fans) return [];
  const { names, size, features } = data.fans;
  const functions = new Quantiles(data.fans.functions);
  const [xs, at] = [unpack(data.fans.x), unpack(data.fans.points)];
  return names.map((name, j) => ({
    name: name + (features > 1 ? " (the others at their medians)" : ""),
    xs: Array.from(xs.subarray(j * size, (j + 1) * size)),
    value: (k, tau) => functions.value(j * size + k, tau),
    points: Array.from(cases.y.subarray(0, 2000), (y, i) => [at[j * m + i], y]),
    error: functions.error,
  }));
}

const fans = data.fans?.features === 1 ? featureFans() : [orderFan(), ...featureFans()];

function fanChart() {
  const options = {
    title: "Predicted quantiles", y: "y", ratio: 0.62,
    xRange: () => {
      const { xs } = fans[state.fan];
      return [xs[0], xs[xs.length - 1]];
    },
    yRange: () => {
      const fan = fans[state.fan];
      const values = [...fan.points.map(([, y]) => y)];
      for (const level of [0.05, 0.95]) fan.xs.forEach((_, k) => values.push(fan.value(k, level)));
      const [low, high] = extent(values);
      const room = 0.04 * (high - low || 1);
      return [low - room, high + room];
    },
    base: (chart) => {
      const fan = fans[state.fan];
      const along = (level) => fan.xs.map((_, k) => fan.value(k, level));
      const { low, high } = interval(state.coverage);
      const [bottom, top] = [along(low), along(high)];
      if (fan.separate) {
        const d = fan.xs.map((x, k) => `M${chart.place(x, bottom[k])}L${chart.place(x, top[k])}`).join("");
        chart.add("path", { d, class: "line range" });
      } else {
        chart.band(fan.xs, bottom, top, "positive");
        for (const level of LEVELS) {
          chart.line(along(level).map((y, k) => [fan.xs[k], y]), level === 0.5 ? "positive" : "quantile");
        }
      }
      for (const [x, y] of fan.points) chart.add("circle", { cx: chart.X(x).toFixed(1), cy: chart.Y(y).toFixed(1), r: 2.3, class: "point" });
    },
    moving: (chart) => {
      const fan = fans[state.fan];
      const now = fan.xs.map((x, k) => [x, fan.value(k, state.tau)]);
      if (fan.separate) {
        for (const [x, y] of now) chart.add("circle", { cx: chart.X(x).toFixed(1), cy: chart.Y(y).toFixed(1), r: 2.3, class: "case negative" });
      } else {
        chart.line(now, "negative strong");
      }
      chart.explain([
        ["negative strong", "now: the quantile of", percent(state.tau), fan.separate ? "dot" : "line"],
        fan.separate ? ["ink", "what came", "", "dot"] : ["positive", "median", ""],
        ...(fan.separate ? [] : [["quantile", "5, 25, 75 and 95 %", ""]]),
        ["positive", "interval of", percent(state.coverage, 0), "band"],
      ]);
    },
    describe: () => `Predicted quantiles over ${fans[state.fan].name}, with ${sayCount(fans[state.fan].points.length)} cases.`,
  };
  Object.defineProperty(options, "x", { get: () => fans[state.fan].name });
  if (fans.length > 1) {
    options.extra = choice("Over", fans.map((fan, k) => [k, fan.name]), (k) => {
      state.fan = Number(k);
      chart.draw();
    }, { id: "fan" });
  }
  options.note = `Quantiles never cross. Lines come from fewer points over τ than the path has, at most ${say(100 * Math.max(...fans.map((fan) => fan.error)), 2)} % of their range off.`;
  const chart = new Chart(options);
  return chart;
}

function calibrationChart() {
  return new Chart({
    title: "Calibration of the quantiles",
    x: "τ", y: "share of cases at or below", xTick: asPercent, yTick: asPercent, xRange: unit, yRange: unit, ratio: 0.74, follow: setTau,
    base: (chart) => {
      chart.line([[0, 0], [1, 1]], "faint dashed");
      chart.steps(n + 1, (k) => (k === 0 ? 0 : k > n ? 1 : below[k - 1]), (k) => k / n, "positive");
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      chart.dot(state.tau, shareUpTo(state.tau), "positive");
      chart.explain([["positive", "seen", percent(shareUpTo(state.tau))], ["faint dashed", "as it should be", percent(state.tau)]]);
    },
    describe: () => `Share of cases at or below the predicted quantile, over τ. At τ = ${say(state.tau)} it is ${percent(shareUpTo(state.tau))}.`,
  });
}

function lossChart() {
  return new Chart({
    title: "Pinball loss along τ",
    x: "τ", y: "mean pinball loss", xRange: unit, follow: setTau, ratio: 0.74,
    yRange: () => {
      let high = 0;
      for (const tau of means.taus) high = Math.max(high, pinball(tau));
      return [0, 1.06 * high || 1];
    },
    base: (chart) => {
      const points = [];
      means.taus.forEach((tau, k) => {
        // between nodes the loss bends a little: excess and shortfall are linear, their weights too
        if (k) {
          const before = means.taus[k - 1];
          const steps = Math.ceil((tau - before) * 60);
          for (let j = 1; j < steps; j++) points.push(before + (j / steps) * (tau - before));
        }
        points.push(tau);
      });
      chart.line(points.map((tau) => [tau, pinball(tau)]), "cost");
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      chart.dot(state.tau, pinball(state.tau), "cost");
      chart.explain([["cost", "now", say(pinball(state.tau), 4)]]);
    },
    note: `Means are off by ${say(data.means.error, 2)} at most; shares are exact.`,
    describe: () => `Mean pinball loss over τ. At τ = ${say(state.tau)} it is ${say(pinball(state.tau), 4)}.`,
  });
}

function coverageChart() {
  const grid = Array.from({ length: 197 }, (_, k) => 0.01 + (0.98 * k) / 196);
  return new Chart({
    title: "Coverage of central intervals",
    x: "coverage that is meant", y: "share of cases inside", xTick: asPercent, yTick: asPercent, xRange: unit, yRange: unit, ratio: 0.74,
    base: (chart) => {
      chart.line([[0, 0], [1, 1]], "faint dashed");
      chart.line(grid.map((coverage) => [coverage, interval(coverage).share]), "benefit");
    },
    moving: (chart) => {
      chart.dot(state.coverage, interval(state.coverage).share, "benefit");
      chart.explain([["benefit", "inside", percent(interval(state.coverage).share)], ["faint dashed", "meant", percent(state.coverage, 0)]]);
    },
    describe: () => `Share of cases within the central interval against the share that is meant. Of the interval meant for ${percent(state.coverage, 0)}: ${percent(interval(state.coverage).share)}.`,
  });
}

// -- cases --------------------------------------------------------------------------------------

const HEADS = [
  ["row", true], ["prediction is", false], ["y", true], ["predicted", true], ["off by", true],
  ...cases.columns.map((column) => [column.name, column.numeric]),
];
const caseTable = table("Dearest cases at this τ", HEADS, [], "mistakes-table");
const caseNote = element("p", { class: "note", id: "mistakes-note" });
const SHOWN = 12;

function showCases() {
  const found = Array.from({ length: m }, (_, i) => {
    const predicted = cases.functions.value(i, state.tau);
    const off = predicted - cases.y[i];
    return { i, predicted, off, cost: off > 0 ? state.costOver * off : -state.costUnder * off };
  });
  found.sort((a, b) => b.cost - a.cost || a.i - b.i);
  caseTable.querySelector("tbody").replaceChildren(...found.slice(0, SHOWN).map(({ i, predicted, off }) =>
    tableRow([
      String(cases.rows[i] + 1),
      element("span", { class: `tag ${off > 0 ? "over" : "under"}` }, off > 0 ? "too high" : "too low"),
      say(cases.y[i], 5), say(predicted, 4), say(off, 3),
      ...cases.columns.map((column) => column.texts[i]),
    ], HEADS)));
  const some = m < n ? ` Of ${sayCount(n)} cases ${sayCount(m)} are here, half of them the furthest from their medians; all are in the shares and means above.` : "";
  caseNote.textContent = `Those that cost most at the present costs. Predictions are at most ${say(100 * cases.functions.error, 2)} % of their range off. Row 1 is the first case.${some}`;
}

// -- the page -----------------------------------------------------------------------------------

const fan = fanChart();
const charts = [
  calibrationChart(), lossChart(), coverageChart(),
  data.coefficients ? coefficientChart(data.coefficients, () => state.tau, setTau) : null,
].filter((chart) => chart !== null);
let redraw = false;
let pending = 0;

/** Show the present state; `curves` if more than τ has changed. */
function update(curves) {
  const text = showHeadline();
  control.show(state.tau, text);
  overField.show(state.costOver, 5);
  underField.show(state.costUnder, 5);
  coverageField.show(100 * state.coverage, 6);
  for (const [id, , value] of METRICS) metricCells[id].textContent = value();
  redraw = redraw || curves;
  if (!pending) pending = requestAnimationFrame(drawAll);
}

function drawAll() {
  pending = 0;
  for (const chart of [fan, ...charts]) {
    if (redraw) chart.draw();
    else chart.move();
  }
  redraw = false;
  showCases();
}

startPage([
  headline,
  element("div", { class: "first" },
    element("section", { class: "card controls", "aria-labelledby": "controls-title" },
      element("h2", { id: "controls-title" }, "What does it cost to be off?"),
      element("div", { class: "fields" }, overField.node, underField.node, coverageField.node),
      control.node,
      element("h2", { class: "spaced", id: "outcome-title" }, "What happens then"), metrics),
    fan.node),
  section("charts", "At every τ", chartGrid(charts)),
  section("mistakes", "Dearest cases at this τ", element("div", { class: "card" }, caseTable, caseNote)),
  originSection(),
  glossary([
    ["τ", "The cost of being too low, divided by the sum of both costs. The τ-quantile is the number that a share τ of all cases should stay at or below; it is the prediction with the least expected cost."],
    ["Pinball loss", "What being off costs per case, where too low costs τ and too high 1 − τ per unit."],
    ["Interval", "From one quantile to another, such that as many cases are left out below as above. A case on its edge is inside."],
    ["Calibration", "On the diagonal, as many cases are at or below the predicted quantile as there should be."],
  ]),
]);
{
  const sum = state.tau === 0.5 ? 2 : 1;
  [state.costUnder, state.costOver] = [state.tau * sum, (1 - state.tau) * sum];
}
update(true);
