// Quantile regression: charts.

const LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95];

/** Cases in the order of their predicted medians, as a fan of its own. */
function orderFan() {
  const median = Array.from({ length: m }, (_, i) => functions.value(i, 0.5));
  const order = Array.from(median.keys()).sort((i, j) => median[i] - median[j]);
  const most = 400; // lines through more points than these cannot be told apart
  const shown = order.length <= most ? order : Array.from({ length: most }, (_, k) => order[Math.floor((k * (order.length - 1)) / (most - 1))]);
  const place = new Map(order.map((i, k) => [i, k + 1]));
  return {
    name: "cases, from the smallest predicted median to the largest",
    x: "cases, from the smallest predicted median to the largest",
    separate: true, // a case by itself, not a point of a curve
    xs: shown.map((i) => place.get(i)),
    value: (k, tau) => functions.value(shown[k], tau),
    points: order.map((i) => [place.get(i), cases.y[i]]),
  };
}

/** Over one column, while the others stay as they typically are. */
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

/** Predicted quantiles over the cases, or over a column. `changed` is called when that changes. */
function fanChart(state, changed) {
  const options = {
    title: `Predicted ${data.target ? `quantiles of ${target}` : "quantiles"}`, y: target, ratio: 0.62,
    xRange: () => {
      const { xs } = fans[state.fan];
      return [xs[0], xs[xs.length - 1]];
    },
    yRange: () => {
      const { xs, points, value } = fans[state.fan];
      const values = points.filter(([x]) => x >= xs[0] && x <= xs[xs.length - 1]).map(([, y]) => y);
      for (const level of [0.05, 0.95]) xs.forEach((_, k) => values.push(value(k, level)));
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
      const [from, to] = [fan.xs[0], fan.xs[fan.xs.length - 1]];
      for (const [x, y] of fan.points) {
        if (x >= from && x <= to) chart.add("circle", { cx: chart.X(x).toFixed(1), cy: chart.Y(y).toFixed(1), r: 2.3, class: "point" });
      }
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
        ["negative strong", "predicted at your costs:", `${percent(state.tau)} quantile`, fan.separate ? "dot" : "line"],
        ["ink", data.target ? `actual ${target}` : "actual", "", "dot"],
        ...(fan.separate ? [] : [["positive", "median", ""], ["quantile", "5, 25, 75 and 95 % quantiles", ""]]),
        ["positive", "interval for", percent(state.coverage, 0), "band"],
      ]);
    },
    describe: () => `Predicted quantiles of ${target} over ${fans[state.fan].name}, with ${sayCount(fans[state.fan].points.length)} cases.`,
  };
  Object.defineProperty(options, "x", { get: () => fans[state.fan].x });
  if (fans.length > 1) {
    options.extra = choice("Over", fans.map((fan, k) => [k, fan.name]), (k) => {
      state.fan = Number(k);
      chart.draw();
      changed();
    }, { id: "fan" });
  }
  const few = data.fans && data.fans.names.length < data.fans.columns ? ` The ${data.fans.names.length} of ${sayCount(data.fans.columns)} columns that hold numbers and move the median most can be chosen, those first.` : "";
  options.note = `Quantiles never cross. Curves are ${sayOff(functions)}.${few} Columns are shown from their 1st to their 99th percentile.`;
  const chart = new Chart(options);
  return chart;
}

/** Where no single cases are there: the mean of the predicted quantiles. */
function meanChart(state, setTau) {
  return new Chart({
    title: `Mean predicted quantile${data.target ? ` of ${target}` : ""}`,
    x: "quantile τ", y: target, xRange: unit, xTick: asPercent, ratio: 0.62, follow: setTau,
    yRange: () => {
      const [low, high] = [meanAt("quantile", 0.005), meanAt("quantile", 0.995)];
      const room = 0.05 * (high - low || 1);
      return [low - room, high + room];
    },
    base: (chart) => {
      const { low, high } = interval(state.coverage);
      const [from, to] = chart.yRange;
      chart.band([low, high], [from, from], [to, to], "positive");
      chart.line(Array.from(means.taus, (tau, k) => [tau, means.quantile[k]]), "positive");
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      chart.dot(state.tau, meanAt("quantile", state.tau), "positive");
      chart.explain([["positive", "mean prediction", say(meanAt("quantile", state.tau), 4)], ["positive", "interval for", percent(state.coverage, 0), "band"]]);
    },
    describe: () => `Mean over all cases of the predicted quantile, over τ. At τ = ${say(state.tau)} it is ${say(meanAt("quantile", state.tau), 4)}.`,
  });
}

function calibrationChart(state, setTau) {
  return new Chart({
    title: "Are the quantiles right?",
    x: "quantile τ", y: "share of cases at or below", xTick: asPercent, yTick: asPercent, xRange: unit, yRange: unit, ratio: 0.74, follow: setTau,
    base: (chart) => {
      chart.line([[0, 0], [1, 1]], "faint dashed");
      chart.steps(n + 1, (k) => (k === 0 ? 0 : k > n ? 1 : below[k - 1]), (k) => k / n, "positive");
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      chart.dot(state.tau, shareUpTo(state.tau), "positive");
      chart.explain([["positive", "these cases", percent(shareUpTo(state.tau))], ["faint dashed", "expected", percent(state.tau)]]);
    },
    describe: () => `Share of cases at or below the predicted quantile, over τ. At τ = ${say(state.tau)} it is ${percent(shareUpTo(state.tau))}.`,
  });
}

function lossChart(state, setTau) {
  const nodes = [];
  means.taus.forEach((tau, k) => {
    // between nodes the loss bends a little: excess and shortfall are linear, their weights too
    if (k) {
      const before = means.taus[k - 1];
      const steps = Math.ceil((tau - before) * 60);
      for (let j = 1; j < steps; j++) nodes.push(before + (j / steps) * (tau - before));
    }
    nodes.push(tau);
  });
  const same = (tau) => (1 - tau) * interpolate(constant.taus, constant.over, tau) + tau * interpolate(constant.taus, constant.under, tau);
  return new Chart({
    title: "How far off, at every quantile",
    x: "quantile τ", y: "mean pinball loss", xRange: unit, xTick: asPercent, follow: setTau, ratio: 0.74,
    yRange: () => [0, 1.06 * Math.max(...nodes.map((tau) => Math.max(pinball(tau), same(tau)))) || 1],
    base: (chart) => {
      chart.line(Array.from(constant.taus, (tau) => [tau, same(tau)]), "faint dashed");
      chart.line(nodes.map((tau) => [tau, pinball(tau)]), "cost");
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      chart.dot(state.tau, pinball(state.tau), "cost");
      chart.explain([["cost", "this model", say(pinball(state.tau), 4)], ["faint dashed", "same number for all", say(same(state.tau), 4)]]);
    },
    note: `Shares are exact. Means are rounded: for τ from 1 % to 99 % by an estimated ${say(data.means.error, 2)} at most, at half of these by less than ${say(data.means.usual, 2)}.`,
    describe: () => `Mean pinball loss over τ. At τ = ${say(state.tau)} it is ${say(pinball(state.tau), 4)}, and ${say(same(state.tau), 4)} if all cases get the same number.`,
  });
}

function coverageChart(state) {
  const grid = Array.from({ length: 197 }, (_, k) => 0.01 + (0.98 * k) / 196);
  return new Chart({
    title: "Do intervals contain what they should?",
    x: "interval meant for", y: "share of cases inside", xTick: asPercent, yTick: asPercent, xRange: unit, yRange: unit, ratio: 0.74,
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
