// Quantile regression: charts.

// Quantiles drawn over a column.
const LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95];
// Cases drawn side by side: more could not be told apart.
const MOST_APART = 400;

// A fan is what quantiles are drawn over: xs, in order, value(k, τ) at xs[k], and the cases as points [x, y].

/** Cases in the order of their predicted medians. */
function orderFan() {
  const median = Array.from({ length: m }, (_, i) => functions.value(i, 0.5));
  const order = Array.from(median.keys()).sort((i, j) => median[i] - median[j]);
  const shown = Math.min(m, MOST_APART);
  const places = Array.from({ length: shown }, (_, k) => (m === shown ? k : Math.floor((k * (m - 1)) / (shown - 1))));
  const name = "cases, from the smallest predicted median to the largest";
  return {
    name, x: name,
    separate: true, // a case by itself, not a point of a curve
    xs: places.map((place) => place + 1),
    value: (k, tau) => functions.value(order[places[k]], tau),
    points: order.map((i, place) => [place + 1, cases.y[i]]),
  };
}

/** A fan over each column, while the others stay at typical values. */
function columnFans() {
  if (!data.fans) return [];
  const { names, size, columns, mixed } = data.fans;
  const [xs, at] = [unpack(data.fans.x), unpack(data.fans.points)];
  const others = columns > 1 ? ` (the others at their medians${mixed ? " or most common values" : ""})` : "";
  return names.map((name, j) => ({
    name: name + others,
    x: name,
    xs: Array.from(xs.subarray(j * size, (j + 1) * size)),
    value: (k, tau) => functions.value(m + j * size + k, tau),
    points: Array.from(cases.y, (y, i) => [at[j * m + i], y]).filter(([x]) => Number.isFinite(x)),
  }));
}

const fans = cases ? [...(data.fans?.columns === 1 ? [] : [orderFan()]), ...columnFans()] : [];

/** A range with some room at either end. */
function withRoom([low, high], part) {
  const room = part * (high - low || 1);
  return [low - room, high + room];
}

/** Predicted quantiles over the cases, or over a column. `changeFan` is called with the number of a fan. */
function fanChart(state, changeFan) {
  const current = () => fans[state.fan];
  const inside = () => {
    const { xs, points } = current();
    return points.filter(([x]) => x >= xs[0] && x <= xs.at(-1));
  };
  const circle = (chart, [x, y], mark) =>
    chart.add("circle", { cx: chart.X(x).toFixed(1), cy: chart.Y(y).toFixed(1), r: 2.3, class: mark });
  const fewer = data.fans && data.fans.names.length < data.fans.columns ? ` The ${data.fans.names.length} of ${sayCount(data.fans.columns)} columns that hold numbers and move the median most can be chosen, those first.` : "";
  const over = choice("fan", "Over", fans.map((fan, k) => [k, fan.name]), (k) => changeFan(Number(k)));
  return new Chart({
    title: `Predicted ${data.target ? `quantiles of ${target}` : "quantiles"}`, x: () => current().x, y: target, ratio: 0.62,
    uses: ["coverage", "fan"], extra: fans.length > 1 ? over.node : null,
    note: `Quantiles never cross. Curves are ${sayOff(functions)}.${fewer} Columns are shown from their 1st to their 99th percentile.`,
    xRange: () => [current().xs[0], current().xs.at(-1)],
    yRange: () => {
      const { xs, value } = current();
      const ends = [0.05, 0.95].flatMap((level) => xs.map((_, k) => value(k, level)));
      return withRoom(extent([...inside().map(([, y]) => y), ...ends]), 0.04);
    },
    base: (chart) => {
      const fan = current();
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
      for (const point of inside()) circle(chart, point, "point");
    },
    moving: (chart) => {
      const fan = current();
      const now = fan.xs.map((x, k) => [x, fan.value(k, state.tau)]);
      if (fan.separate) for (const point of now) circle(chart, point, "case negative");
      else chart.line(now, "negative strong");
      over.show(state.fan);
      chart.explain([
        ["negative strong", "predicted at your costs:", `${percent(state.tau)} quantile`, fan.separate ? "dot" : "line"],
        ["ink", data.target ? `actual ${target}` : "actual", "", "dot"],
        ...(fan.separate ? [] : [["positive", "median", ""], ["quantile", "5, 25, 75 and 95 % quantiles", ""]]),
        ["positive", "interval for", percent(state.coverage, 0), "band"],
      ]);
    },
    describe: () => `Predicted quantiles of ${target} over ${current().name}, with ${sayCount(current().points.length)} cases.`,
  });
}

/** The mean of the predicted quantiles: for a page without single cases. */
function meanChart(state, follow) {
  return new Chart({
    title: `Mean predicted quantile${data.target ? ` of ${target}` : ""}`,
    x: "quantile τ", y: target, xTick: asPercent, ratio: 0.62, follow, uses: ["coverage"],
    // the last quantiles may lie far outside
    yRange: () => withRoom([meanQuantile(0.005), meanQuantile(0.995)], 0.05),
    base: (chart) => {
      const { low, high } = interval(state.coverage);
      const [from, to] = chart.yRange;
      chart.band([low, high], [from, from], [to, to], "positive");
      chart.line(Array.from(means.taus, (tau, k) => [tau, means.quantile[k]]), "positive");
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      chart.dot(state.tau, meanQuantile(state.tau), "positive");
      chart.explain([["positive", "mean prediction", say(meanQuantile(state.tau), 4)], ["positive", "interval for", percent(state.coverage, 0), "band"]]);
    },
    describe: () => `Mean over all cases of the predicted quantile, over τ. At τ = ${say(state.tau)} it is ${say(meanQuantile(state.tau), 4)}.`,
  });
}

function calibrationChart(state, follow) {
  return new Chart({
    title: "Are the quantiles right?",
    x: "quantile τ", y: "share of cases at or below", xTick: asPercent, yTick: asPercent, yRange: unit, ratio: 0.74, follow,
    base: (chart) => {
      chart.line([[0, 0], [1, 1]], "faint dashed");
      chart.steps(below, [0, 1], (k) => k / n, "positive");
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      chart.dot(state.tau, shareUpTo(state.tau), "positive");
      chart.explain([["positive", "these cases", percent(shareUpTo(state.tau))], ["faint dashed", "expected", percent(state.tau)]]);
    },
    describe: () => `Share of cases at or below the predicted quantile, over τ. At τ = ${say(state.tau)} it is ${percent(shareUpTo(state.tau))}.`,
  });
}

function lossChart(state, follow) {
  // between nodes the loss is a parabola (excess and shortfall are linear, their weights too): drawn
  // with a point every sixtieth of the axis, it looks like one
  const nodes = Array.from(means.taus).flatMap((tau, k, taus) => {
    const before = k ? taus[k - 1] : tau;
    const steps = Math.max(Math.ceil((tau - before) * 60), 1);
    return Array.from({ length: steps }, (_, j) => before + ((j + 1) / steps) * (tau - before));
  });
  const own = (tau) => pinball(means, tau);
  const same = (tau) => pinball(constant, tau);
  return new Chart({
    title: "How far off, at every quantile",
    x: "quantile τ", y: "mean pinball loss", xTick: asPercent, follow, ratio: 0.74,
    yRange: () => [0, 1.06 * Math.max(...nodes.map((tau) => Math.max(own(tau), same(tau)))) || 1],
    base: (chart) => {
      chart.line(Array.from(constant.taus, (tau) => [tau, same(tau)]), "faint dashed");
      chart.line(nodes.map((tau) => [tau, own(tau)]), "cost");
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      chart.dot(state.tau, own(state.tau), "cost");
      chart.explain([["cost", "this model", say(own(state.tau), 4)], ["faint dashed", "same number for all", say(same(state.tau), 4)]]);
    },
    note: `Shares are exact. Means are rounded: for τ from 1 % to 99 % by an estimated ${say(data.means.error, 2)} at most, at half of these by less than ${say(data.means.usual, 2)}.`,
    describe: () => `Mean pinball loss over τ. At τ = ${say(state.tau)} it is ${say(own(state.tau), 4)}, and ${say(same(state.tau), 4)} if all cases get the same number.`,
  });
}

function coverageChart(state) {
  const intervals = 196; // half percents
  const grid = Array.from({ length: intervals + 1 }, (_, k) => 0.01 + (0.98 * k) / intervals);
  return new Chart({
    title: "Do intervals contain what they should?",
    x: "interval meant for", y: "share of cases inside", xTick: asPercent, yTick: asPercent, yRange: unit, ratio: 0.74,
    base: (chart) => {
      chart.line([[0, 0], [1, 1]], "faint dashed");
      chart.line(grid.map((coverage) => [coverage, interval(coverage).share]), "benefit");
    },
    moving: (chart) => {
      chart.dot(state.coverage, interval(state.coverage).share, "benefit");
      chart.explain([["benefit", "these cases", percent(interval(state.coverage).share)], ["faint dashed", "expected", percent(state.coverage, 0)]]);
    },
    describe: () => `Share of cases within the central interval against the share that it is meant for. Of the interval meant for ${percent(state.coverage, 0)}: ${percent(interval(state.coverage).share)}.`,
  });
}
