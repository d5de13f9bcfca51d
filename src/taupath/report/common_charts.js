// Charts that pages of several kinds have.

const asPercent = (share) => `${say(100 * share)}\u2009%`;
const unit = () => [0, 1];

/** Reliability: shares of the positive class against predicted probabilities. */
function reliabilityChart(reliability, name, options = {}) {
  const { seen, predicted, low, high, counts, edges, brier } = reliability;
  const most = Math.max(...counts);
  return new Chart({
    title: "Reliability of the probabilities",
    x: `predicted probability of ${name}`, y: `share that was ${name}`,
    xTick: asPercent, yTick: asPercent, xRange: unit, yRange: unit, ratio: 0.74,
    note: "Bars: how the cases spread over the predictions. Whiskers: 95 % intervals. Near the diagonal is good.",
    ...options,
    base: (chart) => {
      edges.forEach(([from, to], k) => {
        const height = 0.16 * (counts[k] / most) * (chart.bottom - chart.top);
        chart.add("rect", {
          x: chart.X(from) + 0.5, width: Math.max(chart.X(to) - chart.X(from) - 1, 1),
          y: chart.bottom - height, height, class: "bar",
        });
      });
      chart.line([[0, 0], [1, 1]], "faint dashed");
      predicted.forEach((x, k) => chart.line([[x, low[k]], [x, high[k]]], "whisker"));
      chart.line(predicted.map((x, k) => [x, seen[k]]), "positive");
      predicted.forEach((x, k) => chart.dot(x, seen[k], "positive", 3.5));
      chart.explain([
        ["positive", "seen", `Brier score ${say(brier)}`],
        ["faint dashed", "as predicted", ""],
      ]);
    },
    describe: () => predicted.map((x, k) => `Predicted ${percent(x, 0)}: ${percent(seen[k], 0)} of ${counts[k]}.`).join(" "),
  });
}

/** Coefficients over τ; the largest by name. */
function coefficientChart(coefficients, getTau, setTau) {
  const functions = new Functions(coefficients.functions);
  const NAMED = Math.min(functions.length, 8);
  const value = (i) => functions.value(i, getTau());
  return new Chart({
    title: "Weight of each feature",
    x: "τ", y: "coefficient", xRange: unit, ratio: 0.74, follow: setTau,
    yRange: () => {
      const [low, high] = functions.range();
      const room = 0.06 * (high - low || 1);
      return [Math.min(low, 0) - room, Math.max(high, 0) + room];
    },
    note: `The ${NAMED === functions.length && NAMED === coefficients.features ? "features" : `${NAMED} largest of ${coefficients.features} features`} by name. Lines are drawn at fewer points than the path has, at most ${say(100 * coefficients.tolerance)} % of their range off.`,
    base: (chart) => {
      chart.line([[0, 0], [1, 0]], "faint");
      for (let i = functions.length - 1; i >= NAMED; i--) chart.line(functions.points(i), "others");
      for (let i = NAMED - 1; i >= 0; i--) chart.line(functions.points(i), `c${i}`);
    },
    moving: (chart) => {
      chart.cursor(getTau());
      for (let i = 0; i < NAMED; i++) chart.dot(getTau(), value(i), `c${i}`, 3.5);
      chart.explain(coefficients.names.slice(0, NAMED).map((name, i) => [`c${i}`, name, sayFixed(value(i), 3)]));
    },
    describe: () => `Coefficients over τ. At τ = ${say(getTau())}: ${coefficients.names.slice(0, NAMED).map((name, i) => `${name} ${sayFixed(value(i), 3)}`).join(", ")}.`,
  });
}
