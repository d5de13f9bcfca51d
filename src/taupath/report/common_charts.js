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

/** Weights of the features over τ; the largest by name. `along` is the scale of τ. */
function coefficientChart(coefficients, getTau, setTau, { along = EVEN, x = "τ" } = {}) {
  const functions = new Functions(coefficients.functions);
  const NAMED = Math.min(functions.length, 8);
  const value = (i) => functions.value(i, getTau());
  const names = coefficients.names.slice(0, NAMED);
  const scale = along.ticks.length ? { along } : { xRange: unit };
  return new Chart({
    title: "Weight of each column",
    x, y: "weight per standard deviation", ...scale, ratio: 0.74, follow: setTau,
    yRange: () => {
      const [low, high] = functions.range();
      const room = 0.06 * (high - low || 1);
      return [Math.min(low, 0) - room, Math.max(high, 0) + room];
    },
    note: `By how much f rises if a column rises by one standard deviation of these cases. ${NAMED < coefficients.features ? `The ${NAMED} largest of ${sayCount(coefficients.features)} by name. ` : ""}Lines are off by at most ${say(100 * coefficients.tolerance)} % of their range.`,
    base: (chart) => {
      chart.line([[0, 0], [1, 0]], "faint");
      // straight between nodes on an even scale only
      const draw = (i, mark) => (along.ticks.length ? chart.curve((tau) => functions.value(i, tau), mark) : chart.line(functions.points(i), mark));
      for (let i = functions.length - 1; i >= NAMED; i--) draw(i, "others");
      for (let i = NAMED - 1; i >= 0; i--) draw(i, `c${i}`);
    },
    moving: (chart) => {
      chart.cursor(getTau());
      for (let i = 0; i < NAMED; i++) chart.dot(getTau(), value(i), `c${i}`, 3.5);
      chart.explain(names.map((name, i) => [`c${i}`, name, sayFixed(value(i), 3)]));
    },
    describe: () => `Weights per standard deviation over τ. At τ = ${say(getTau())}: ${names.map((name, i) => `${name} ${sayFixed(value(i), 3)}`).join(", ")}.`,
  });
}

/** Weights at the present τ as a table: per standard deviation, and per unit of the column. */
function weightsCard(coefficients, getTau) {
  const functions = new Functions(coefficients.functions);
  const { names, means, deviations } = coefficients;
  const heads = [["column", false], ["weight per standard deviation", true], ["one standard deviation", true], ["weight per unit", true], ["average", true]];
  const body = table("Weights at your costs", heads, [], "weights-table");
  const show = () => {
    const values = names.map((_, j) => functions.value(j, getTau()));
    const order = Array.from(values.keys()).sort((i, j) => Math.abs(values[j]) - Math.abs(values[i]));
    body.querySelector("tbody").replaceChildren(...order.map((j) => tableRow(
      [names[j], sayFixed(values[j], 3), say(deviations[j], 4), say(values[j] / deviations[j]), say(means[j], 4)], heads)));
  };
  const few = names.length < coefficients.features ? `the ${names.length} largest of ${sayCount(coefficients.features)}` : `all ${names.length}`;
  const node = element("details", { class: "card" },
    element("summary", {}, `Show ${few} as a table, per standard deviation and per unit`), body);
  return { node, show };
}
