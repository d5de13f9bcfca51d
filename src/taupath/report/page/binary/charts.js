// Charts of two classes along the costs. Each is a function of the page's `state` (main.js).

// One power of ten beyond the ratio of the classes: there, one answer for all cases is best. Ticks for
// more than five powers of ten do not fit.
const SCALE = costScale(clamp(Math.ceil(Math.abs(Math.log10(nPositive / nNegative))) + 1, 3, 5));
// Costs up to this multiple of deciding without looking can be seen; curves end a little above it.
const [MOST_COST, CUT_COST] = [1.25, 1.4];
const RATIO_AXIS = "cost of a false alarm : cost of a miss";
const OTHER_MARKS = ["other", "other second", "other third", "other fourth"];
const otherMark = (k) => OTHER_MARKS[Math.min(k, OTHER_MARKS.length - 1)];

/** Cost at τ of one way to decide, and its 95 % interval: [cost, low, high], as parts of the cost of deciding without looking. */
function relativeCosts(state, own, tau) {
  const costs = { costFp: tau, costFn: 1 - tau, prevalence: state.prevalence }; // in a unit where they add up to 1
  const k = own.piece(state.decidesAt(tau));
  const [alarms, found, blind] = [own.falseAlarms[k], own.found[k], withoutLooking(costs).cost];
  return [meanCost(costs, alarms, found), ...costBand(costs, alarms, found)].map((cost) => cost / blind);
}

/** Cost at every ratio, as part of what deciding without looking would cost. */
function costChart(state) {
  const now = (own) => relativeCosts(state, own, state.tau)[0];
  const cut = (own) => (tau) => Math.min(relativeCosts(state, own, tau)[0], CUT_COST);
  const sayNow = (own) => (state.tau > 0 && state.tau < 1 ? percent(now(own)) : "");
  return new Chart({
    title: "Cost relative to deciding without looking", ratio: 0.62, uses: ["prevalence"],
    x: RATIO_AXIS, y: "cost; without looking = 100 %", along: SCALE, yTick: asPercent, follow: state.setTau,
    note: `0 %: no mistakes. 100 %: as costly as giving every case the same answer. Each ratio is decided at its own τ. The band is a 95 % interval: how far off this may be with ${sayCount(n)} cases.`,
    yRange: () => [0, MOST_COST],
    base: (chart) => {
      const taus = chart.pixels();
      const bands = taus.map((tau) => relativeCosts(state, counts, tau).map((cost) => Math.min(cost, CUT_COST)));
      chart.band(taus, bands.map(([, low]) => low), bands.map(([, , high]) => high), "cost");
      chart.line([[0, 1], [1, 1]], "faint dashed");
      others.forEach((other, k) => chart.curve(cut(other.counts), otherMark(k)));
      chart.curve(cut(counts), "cost");
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      others.forEach((other, k) => chart.dot(state.tau, now(other.counts), otherMark(k), 3.8));
      chart.dot(state.tau, now(counts), "cost");
      chart.explain([
        ["cost", "this model", sayNow(counts)],
        ...others.map((other, k) => [otherMark(k), other.name, sayNow(other.counts)]),
        ["faint dashed", "without looking", "100 %"],
      ]);
    },
    describe: () => `Cost over the ratio of the two costs, as a part of what deciding without looking costs. At ${sayRatio(state.tau)}: this model ${percent(now(counts))}${others.map((other) => `, ${other.name} ${percent(now(other.counts))}`).join("")}.`,
  });
}

// Where the lowest rate is looked for; further out, rates go down to 0.
const MODERATE = [0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95];

/** True positives, true negatives and accuracy along the costs: the paper's Figure 2. */
function ratesChart(state) {
  const at = (own, tau) => own.piece(state.decidesAt(tau));
  const first = others.slice(0, 1); // more of them could not be told apart
  const accuracy = (own, k) => state.prevalence * own.tpr(k) + (1 - state.prevalence) * own.tnr(k);
  const rates = [
    ["positive", "found (TPR)", (own, k) => own.tpr(k)],
    ["negative", "cleared (TNR)", (own, k) => own.tnr(k)],
    ["ink", "right (accuracy)", accuracy],
  ];
  return new Chart({
    title: "Rates along the costs", ratio: 0.74, uses: ["prevalence"],
    x: RATIO_AXIS, y: "share", yTick: asPercent, along: SCALE, follow: state.setTau,
    yRange: () => {
      const low = Math.min(...MODERATE.flatMap((tau) => rates.map(([, , rate]) => rate(counts, at(counts, tau)))));
      return [Math.max(0, Math.floor(low * 10 - 1e-9) / 10), 1];
    },
    base: (chart) => {
      first.forEach((other) => rates.slice(0, 2).forEach(([mark, , rate]) =>
        chart.curve((tau) => rate(other.counts, at(other.counts, tau)), `${mark} dashed thin`)));
      for (const [mark, , rate] of rates) chart.curve((tau) => rate(counts, at(counts, tau)), mark);
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      const k = counts.piece(state.decides);
      for (const [mark, , rate] of rates) chart.dot(state.tau, rate(counts, k), mark);
      chart.explain([
        ...rates.map(([mark, name, rate]) => [mark, name, percent(rate(counts, k))]),
        ...first.map((other) => ["ink dashed thin", other.name, ""]),
      ]);
    },
    describe: () => {
      const k = counts.piece(state.decides);
      return `Along the costs. At ${sayRatio(state.tau)} the true positive rate is ${percent(counts.tpr(k))}, the true negative rate ${percent(counts.tnr(k))}, accuracy ${percent(accuracy(counts, k))}.`;
    },
  });
}

/** ROC: all pairs of rates, and what costs as much as the present one. */
function rocChart(state) {
  const points = (own) => {
    const list = [];
    for (let k = 0; k < own.pieces; k++) {
      const point = [1 - own.tnr(k), own.tpr(k)];
      const last = list.at(-1);
      if (!last || last[0] !== point[0] || last[1] !== point[1]) list.push(point);
    }
    return list;
  };
  return new Chart({
    title: "ROC curve",
    x: `false alarms among ${negative}`, y: `found among ${positive}`,
    xTick: asPercent, yTick: asPercent, yRange: unit, ratio: 0.74,
    base: (chart) => {
      chart.line([[0, 0], [1, 1]], "faint dashed");
      others.forEach((other, k) => chart.line(points(other.counts), otherMark(k)));
      chart.line(points(counts), "positive");
    },
    moving: (chart) => {
      const k = counts.piece(state.decides);
      const [x, y] = [1 - counts.tnr(k), counts.tpr(k)];
      // costs are equal along cost_fp (1 - π) FPR - cost_fn π TPR = constant
      const slope = (state.costFp * (1 - state.prevalence)) / (state.costFn * state.prevalence);
      if (Number.isFinite(slope)) chart.line([[0, y - slope * x], [1, y + slope * (1 - x)]], "faint");
      chart.dot(x, y, "positive", 5.5);
      chart.explain([
        ["positive", "now", `${percent(y)} found, ${percent(x)} false alarms`, "dot"],
        ["faint", "same cost", ""],
        ...others.map((other, j) => [otherMark(j), other.name, ""]),
      ]);
    },
    describe: () => {
      const k = counts.piece(state.decides);
      return `True positive rate against false positive rate for every τ. At your costs ${percent(counts.tpr(k))} against ${percent(1 - counts.tnr(k))}.`;
    },
  });
}

/** Decision curve: net benefit in true positives per case (Vickers and Elkin 2006). */
function benefitChart(state) {
  const all = (tau) => state.prevalence - (tau / (1 - tau)) * (1 - state.prevalence);
  const at = (own, tau) => netBenefit(state, own, own.piece(state.decidesAt(tau)), tau);
  const thresholds = { ...SCALE, ticks: [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999].map((tau) => [tau, asPercent(tau)]) };
  return new Chart({
    title: "Decision curve", ratio: 0.74, uses: ["prevalence"],
    x: "τ, read as threshold probability", y: "net benefit", along: thresholds, follow: state.setTau,
    yRange: () => {
      const high = Math.max(state.prevalence, 1e-3);
      return [-0.15 * high, 1.08 * high];
    },
    base: (chart) => {
      const limit = 2 * Math.max(state.prevalence, 1e-3); // out of sight
      const seen = (value) => clamp(value, -limit, limit);
      chart.curve((tau) => seen(all(tau)), "faint");
      chart.line([[0, 0], [1, 0]], "faint dashed");
      others.forEach((other, k) => chart.curve((tau) => seen(at(other.counts, tau)), otherMark(k)));
      chart.curve((tau) => seen(at(counts, tau)), "benefit");
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      chart.dot(state.tau, at(counts, state.tau), "benefit");
      chart.explain([
        ["benefit", "this model", say(at(counts, state.tau))],
        ...others.map((other, k) => [otherMark(k), other.name, say(at(other.counts, state.tau))]),
        ["faint", `all taken for ${positive}`, say(all(state.tau))],
        ["faint dashed", "none", "0"],
      ]);
    },
    describe: () => `Net benefit over the threshold. At τ = ${say(state.tau)} it is ${say(at(counts, state.tau))}; if all cases were taken for ${positive}, ${say(all(state.tau))}.`,
  });
}
