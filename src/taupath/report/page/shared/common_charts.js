// Charts that pages of several kinds have.

const unit = () => [0, 1];
// The largest bar behind a reliability curve, as part of the height: it must not hide the curve.
const LARGEST_BAR = 0.16;
// Weights with a colour and a name in the legend: as many as there are colours.
const NAMED_WEIGHTS = 8;
const RELIABILITY_NOTE = "Bars: how the cases spread over the predictions. Whiskers: 95 % intervals. The nearer the diagonal, the better.";

/** Reliability: shares of a class against its predicted probabilities. */
function reliabilityChart(reliability, name, title, note = null) {
  const { seen, predicted, low, high, counts, edges, brier } = reliability;
  const most = Math.max(...counts);
  return new Chart({
    title, note, x: `predicted probability of ${name}`, y: `share that was ${name}`,
    xTick: asPercent, yTick: asPercent, yRange: unit, ratio: 0.74,
    base: (chart) => {
      edges.forEach(([from, to], k) => {
        const height = LARGEST_BAR * (counts[k] / most) * (chart.bottom - chart.top);
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

/**
 * Weights of the features over τ, the largest by name.
 *
 * getTau(): the present τ; follow: called with another; along: the scale of τ; x: its label; rises: what grows with f.
 */
function weightsChart({ getTau, follow, along, x, rises }) {
  const { names, features, tolerance } = data.coefficients;
  const functions = new Functions(data.coefficients.functions);
  const named = names.slice(0, NAMED_WEIGHTS);
  const value = (i) => functions.value(i, getTau());
  return new Chart({
    title: "Weight of each column",
    x, y: "weight per standard deviation", along, ratio: 0.74, follow,
    yRange: () => {
      const [low, high] = functions.range;
      const room = 0.06 * (high - low || 1);
      return [Math.min(low, 0) - room, Math.max(high, 0) + room];
    },
    note: `By how much ${rises} if a column rises by one standard deviation of these cases. ${named.length < features ? `The ${named.length} largest of ${sayCount(features)} by name. ` : ""}Lines are off by at most ${say(100 * tolerance)} % of their range.`,
    base: (chart) => {
      chart.line([[0, 0], [1, 0]], "faint");
      for (let i = functions.length - 1; i >= 0; i--) {
        const mark = i < named.length ? `c${i}` : "others";
        // straight between nodes on an even scale only
        if (along === EVEN) chart.line(functions.points(i), mark);
        else chart.curve((tau) => functions.value(i, tau), mark);
      }
    },
    moving: (chart) => {
      chart.cursor(getTau());
      named.forEach((_, i) => chart.dot(getTau(), value(i), `c${i}`, 3.5));
      chart.explain(named.map((name, i) => [`c${i}`, name, sayFixed(value(i), 3)]));
    },
    describe: () => `Weights per standard deviation over τ. At τ = ${say(getTau())}: ${named.map((name, i) => `${name} ${sayFixed(value(i), 3)}`).join(", ")}.`,
  });
}

/** Weights at the present τ as a table: per standard deviation, and per unit of the column. */
function weightsTable(getTau) {
  const { names, means, deviations, features } = data.coefficients;
  const functions = new Functions(data.coefficients.functions);
  const heads = [["column", false], ["weight per standard deviation", true], ["one standard deviation", true], ["weight per unit", true], ["average", true]];
  const body = table("Weights at your costs", heads, "weights-table");
  const which = names.length < features ? `the ${names.length} largest of ${sayCount(features)}` : `all ${names.length}`;
  return {
    node: section("weights", "Weights at your costs", element("details", { class: "card" },
      element("summary", {}, `Show ${which} as a table, per standard deviation and per unit`), body)),
    show: () => {
      const values = names.map((_, j) => functions.value(j, getTau()));
      const order = Array.from(values.keys()).sort((i, j) => Math.abs(values[j]) - Math.abs(values[i]));
      showRows(body, heads, order.map((j) =>
        [names[j], sayFixed(values[j], 3), say(deviations[j], 4), say(values[j] / deviations[j]), say(means[j], 4)]));
    },
  };
}
