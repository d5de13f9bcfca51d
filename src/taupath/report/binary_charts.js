// Charts of two classes along the costs. Each is a function of the page's `state` (binary.js).

const SCALE = costScale(clamp(Math.ceil(Math.abs(Math.log10(nPositive / nNegative))) + 1, 3, 5));
const RATIO_AXIS = "cost of a false alarm : cost of a miss";
const OTHER_MARKS = ["other", "other second", "other third", "other fourth"];
const otherMark = (k) => OTHER_MARKS[Math.min(k, OTHER_MARKS.length - 1)];

/** The costs that τ stands for, in a unit where they add up to 1. */
const costsAt = (state, tau) => ({ costFp: tau, costFn: 1 - tau, prevalence: state.prevalence });

/** What one way to decide costs at τ, as part of what deciding without looking does. */
function relativeCost(state, own, tau) {
  const costs = costsAt(state, tau);
  const k = own.piece(state.decidesAt(tau));
  return meanCost(costs, own.falseAlarms[k], own.found[k]) / withoutLooking(costs).cost;
}

/** Cost at every ratio, as part of what deciding without looking would cost. */
function costChart(state) {
  const band = (tau) => {
    const costs = costsAt(state, tau);
    const k = counts.piece(state.decidesAt(tau));
    const least = withoutLooking(costs).cost;
    return costBand(costs, counts.falseAlarms[k], counts.found[k]).map((cost) => cost / least);
  };
  return new Chart({
    title: "Cost at every ratio, beside deciding without looking", ratio: 0.62, uses: ["prevalence"],
    x: RATIO_AXIS, y: "cost; without looking = 100 %", along: SCALE, yTick: asPercent, follow: state.setTau,
    note: "0 %: no mistakes. 100 %: as costly as giving every case the same answer. Each ratio is decided at its own τ. The band is a 95 % interval: how far off this may be with so few cases.",
    yRange: () => [0, 1.25],
    base: (chart) => {
      const taus = chart.pixels();
      const bands = taus.map(band);
      chart.band(taus, bands.map(([low]) => Math.min(low, 1.3)), bands.map(([, high]) => Math.min(high, 1.3)), "cost");
      chart.line([[0, 1], [1, 1]], "faint dashed");
      others.forEach((other, k) => chart.curve((tau) => Math.min(relativeCost(state, other.counts, tau), 1.4), otherMark(k)));
      chart.curve((tau) => Math.min(relativeCost(state, counts, tau), 1.4), "cost");
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      others.forEach((other, k) => chart.dot(state.tau, relativeCost(state, other.counts, state.tau), otherMark(k), 3.8));
      chart.dot(state.tau, relativeCost(state, counts, state.tau), "cost");
      const now = (own) => (state.tau > 0 && state.tau < 1 ? percent(relativeCost(state, own, state.tau)) : "");
      chart.explain([
        ["cost", "this model", now(counts)],
        ...others.map((other, k) => [otherMark(k), other.name, now(other.counts)]),
        ["faint dashed", "without looking", "100 %"],
      ]);
    },
    describe: () => `Cost over the ratio of the two costs, as a part of what deciding without looking costs. At ${sayRatio(state.tau)}: this model ${percent(relativeCost(state, counts, state.tau))}${others.map((other) => `, ${other.name} ${percent(relativeCost(state, other.counts, state.tau))}`).join("")}.`,
  });
}

/** True positives, true negatives and accuracy along the costs: the paper's Figure 2. */
function ratesChart(state) {
  const at = (own, tau) => own.piece(state.decidesAt(tau));
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
      let low = 1;
      for (const tau of [0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95]) {
        for (const [, , rate] of rates) low = Math.min(low, rate(counts, at(counts, tau)));
      }
      return [Math.max(0, Math.floor(low * 10 - 1e-9) / 10), 1];
    },
    base: (chart) => {
      others.slice(0, 1).forEach((other) => rates.slice(0, 2).forEach(([mark, , rate]) =>
        chart.curve((tau) => rate(other.counts, at(other.counts, tau)), `${mark} dashed thin`)));
      for (const [mark, , rate] of rates) chart.curve((tau) => rate(counts, at(counts, tau)), mark);
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      const k = counts.piece(state.decides);
      for (const [mark, , rate] of rates) chart.dot(state.tau, rate(counts, k), mark);
      chart.explain([
        ...rates.map(([mark, name, rate]) => [mark, name, percent(rate(counts, k))]),
        ...others.slice(0, 1).map((other) => ["ink dashed thin", other.name, ""]),
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
      const last = list[list.length - 1];
      if (!last || last[0] !== point[0] || last[1] !== point[1]) list.push(point);
    }
    return list;
  };
  return new Chart({
    title: "ROC curve",
    x: `false alarms among ${negative}`, y: `found among ${positive}`,
    xTick: asPercent, yTick: asPercent, xRange: unit, yRange: unit, ratio: 0.74,
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
      const { top, bottom } = { top: 2 * state.prevalence, bottom: -2 * Math.max(state.prevalence, 1e-3) };
      const seen = (value) => clamp(value, bottom, top || 1);
      chart.curve((tau) => seen(all(tau)), "faint");
      chart.line([[0, 0], [1, 0]], "faint dashed");
      others.forEach((other, k) => chart.curve((tau) => seen(at(other.counts, tau)), otherMark(k)));
      chart.curve((tau) => seen(at(counts, tau)), "benefit");
    },
    moving: (chart) => {
      chart.cursor(state.tau);
      const now = netBenefit(state, counts, counts.piece(state.decides), state.tau);
      if (Number.isFinite(now)) chart.dot(state.tau, now, "benefit");
      chart.explain([
        ["benefit", "this model", say(now)],
        ...others.map((other, k) => [otherMark(k), other.name, say(at(other.counts, state.tau))]),
        ["faint", `everything is ${positive}`, say(all(state.tau))],
        ["faint dashed", "nothing is", "0"],
      ]);
    },
    describe: () => `Net benefit over the threshold. At τ = ${say(state.tau)} it is ${say(at(counts, state.tau))}; if everything were taken for ${positive}, ${say(all(state.tau))}.`,
  });
}
