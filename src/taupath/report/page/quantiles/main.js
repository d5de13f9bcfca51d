// The page of quantile regression: from what being too high or too low costs, to the quantile.

const usual = { tau: data.tau, coverage: 0.8, fan: 0 };
const state = { tau: usual.tau, costOver: 1, costUnder: 1, coverage: usual.coverage, fan: usual.fan, allColumns: false };
let settingsChanged = () => {};

// -- what the reader may change -----------------------------------------------------------------

/** Set τ: the sum of the two costs stays. */
function setTau(tau) {
  const sum = state.costOver + state.costUnder;
  Object.assign(state, { tau, costUnder: neat(tau * sum), costOver: neat((1 - tau) * sum) });
  update("tau");
}

function setCosts(costOver, costUnder) {
  if (costOver + costUnder <= 0) return "one of the two has to cost something";
  Object.assign(state, { costOver, costUnder, tau: costUnder / (costOver + costUnder) });
  update("tau");
  return "";
}

const overField = numberField({
  label: "Too high by 1 costs", id: "cost-over", min: 0, max: LARGEST_COST, hint: "the prediction is above the true value",
  take: (value) => setCosts(value, state.costUnder),
});
const underField = numberField({
  label: "Too low by 1 costs", id: "cost-under", min: 0, max: LARGEST_COST, hint: "the prediction is below the true value",
  take: (value) => setCosts(state.costOver, value),
});
const coverageField = numberField({
  label: "Interval for", id: "coverage", min: 1, max: 99, unit: "%", hint: "of all cases, as many above it as below",
  take: (value) => {
    state.coverage = value / 100;
    update("coverage");
  },
});
const control = new TauControl({
  label: "Quantile τ that is predicted",
  low: "too high costs more: predict low", high: "too low costs more: predict high",
  changes: below, take: setTau, step: "a case changes sides",
});

// -- what happens then --------------------------------------------------------------------------

const headline = makeHeadline({ class: "headline live" });
const metrics = metricList([
  ["above", "Cases above the prediction", () => `${sayCount(n * (1 - shareUpTo(state.tau)))} of ${sayCount(n)}`],
  ["share", "Cases at or below it", () => percent(shareUpTo(state.tau), 2)],
  ["loss", "Mean pinball loss", () => say(pinball(means, state.tau), 4)],
  ["covered", "Cases inside the interval", () => percent(interval(state.coverage).share, 2)],
  ["width", "Mean width of the interval", () => say(interval(state.coverage).width, 4)],
  ["mean", "Mean prediction", () => say(meanQuantile(state.tau), 4)],
]);

/** Show the headline, and return it. */
function showHeadline() {
  const { tau, costOver, costUnder, coverage } = state;
  const above = n - upperBound(below, tau);
  const [own, same] = [means, constant].map((way) => costOf(way, tau, costOver, costUnder));
  const first = `At your costs, predict the ${percent(tau)} quantile${data.target ? ` of ${target}` : ""}`;
  const rest = `: ${sayCount(above)} of ${sayCount(n)} cases turn out larger (${percent(above / n)}; ${percent(1 - tau)} expected). Being off costs ${say(own)} per case; the best single number for all cases would cost ${say(same)}. The interval meant for ${percent(coverage, 0)} of the cases contains ${percent(interval(coverage).share)}.`;
  headline.show(first, rest);
  return first + rest;
}

// -- cases --------------------------------------------------------------------------------------

let off = []; // by how much the prediction for each case is too high
const columns = cases && new ColumnChoice(cases.columns, state, () => {
  showCases();
  settingsChanged();
});
const caseTable = cases && new CaseTable({
  caption: "The most expensive predictions", id: "mistakes-table", onMore: () => showCases(),
  heads: [["row", true], ["prediction is", false], [`actual ${data.target ?? ""}`, true], ["predicted", true], ["off by", true]],
  row: (i) => [
    String(cases.rows[i] + 1),
    element("span", { class: `tag ${off[i] > 0 ? "over" : "under"}` }, off[i] > 0 ? "too high" : "too low"),
    say(cases.y[i], 5), say(cases.y[i] + off[i], 4), say(off[i], 3),
  ],
});

function showCases() {
  if (!cases) return;
  columns.show();
  off = Array.from(cases.y, (y, i) => functions.value(i, state.tau) - y);
  const cost = (i) => (off[i] > 0 ? state.costOver * off[i] : -state.costUnder * off[i]);
  const order = Array.from(off.keys()).sort((i, j) => cost(j) - cost(i) || i - j);
  caseTable.show(order, columns.shown(), {
    about: `, those that cost most at your costs first. Predictions are ${sayOff(functions)}. Row 1 is the first case.`,
    none: "None.",
    after: m < n ? ` Of ${sayCount(n)} cases, ${sayCount(m)} are listed, half of them those furthest from their medians; all are in the shares and means above.` : "",
  });
}

// -- taking it along ----------------------------------------------------------------------------

/** The quantile that is predicted and the ends of the interval, in order. */
function askedLevels() {
  const { low, high } = interval(state.coverage);
  return [...new Set([low, state.tau, high].map((tau) => neat(tau, 6)))].sort((a, b) => a - b);
}

/** Predicted quantiles as a CSV file. */
const quantilesFile = () => casesFile(
  cases, [data.target ?? "actual", ...askedLevels().map((tau) => `quantile ${tau}`)],
  (i) => [cases.y[i], ...askedLevels().map((tau) => neat(functions.value(i, tau), 5))]);

const taking = exportSection(
  cases ? [downloadButton("quantiles.csv", quantilesFile, { id: "save-quantiles" })] : [],
  cases && `The prediction at your costs and the ends of the interval, ${sayOff(functions)}; the command gives them exactly${m < n ? `, and for all ${sayCount(n)} cases instead of the ${sayCount(m)} in this file` : ""}.`);

// -- the page -----------------------------------------------------------------------------------

const mainChart = cases
  ? fanChart(state, (fan) => {
    state.fan = fan;
    update("fan");
  })
  : meanChart(state, setTau);
const charts = [
  calibrationChart(state, setTau), lossChart(state, setTau), coverageChart(state),
  data.coefficients && weightsChart({
    getTau: () => state.tau, follow: setTau, along: EVEN, x: "quantile τ", rises: data.target ? `the predicted ${target} rises` : "the prediction rises",
  }),
].filter((chart) => chart !== null);
const weights = data.coefficients && weightsTable(() => state.tau);

const drawSoon = oncePerFrame((changed) => {
  refresh([mainChart, ...charts], changed);
  weights?.show();
  showCases();
});

/** Show the present state, after "tau", "coverage" or "fan" have changed. */
function update(setting) {
  control.show(state.tau, showHeadline());
  overField.show(state.costOver, 5);
  underField.show(state.costUnder, 5);
  coverageField.show(100 * state.coverage, 6);
  metrics.show();
  taking.show(`--quantiles ${askedLevels().join(" ")} -o quantiles.csv`, `quantile=[${askedLevels().join(", ")}]`);
  drawSoon(setting);
  settingsChanged();
}

startPage(headline, [
  element("div", { class: "first" },
    card("controls", "What does it cost to be off?", { class: "card controls" },
      element("div", { class: "fields" }, overField.node, underField.node, coverageField.node),
      control.node,
      element("h2", { class: "spaced", id: "outcome-title" }, "What happens then"), metrics.node,
      data.levels ? element("p", { class: "note" }, `Shares are right at ${sayCount(data.levels)} values of τ, all thousandths among them.`) : null),
    mainChart.node),
  section("charts", "At every quantile", chartGrid(charts)),
  weights && weights.node,
  cases && section("mistakes", "The most expensive predictions at your costs", element("div", { class: "card" },
    element("div", { class: "bar-of" }, columns.button("all-columns")), ...caseTable.nodes)),
  taking.node,
], [
  ["Quantile τ", "The number that a share τ of all cases should stay at or below. τ is the cost of being too low, divided by the sum of both costs; the τ-quantile is the prediction with the least expected cost."],
  ["Pinball loss", "What being off costs per case, where 1 too low costs τ and 1 too high costs 1 − τ."],
  ["Best single number", "The same prediction for all cases, chosen with hindsight: the difference from it is what the columns are worth."],
  ["Interval", "From one quantile to another, with as many cases expected below as above. A case on its edge is inside."],
  ["Are the quantiles right?", "On the diagonal, as many cases are at or below the predicted quantile as expected."],
]);

settingsChanged = keepInAddress({
  save: () => ({
    over: neat(state.costOver), under: neat(state.costUnder),
    interval: state.coverage === usual.coverage ? null : neat(100 * state.coverage),
    fan: state.fan === usual.fan ? null : state.fan,
    columns: state.allColumns ? "all" : null,
  }),
  restore: (given) => {
    const costs = given.costs("over", "under");
    const sum = usual.tau === 0.5 ? 2 : 1; // 1 and 1 rather than 0.5 and 0.5
    const [costOver, costUnder] = costs ?? [neat((1 - usual.tau) * sum), neat(usual.tau * sum)];
    Object.assign(state, {
      tau: costs ? costUnder / (costOver + costUnder) : usual.tau,
      costOver,
      costUnder,
      coverage: (given.number("interval", 1, 99) ?? 100 * usual.coverage) / 100,
      fan: given.integer("fan", 0, Math.max(fans.length - 1, 0)) ?? usual.fan,
      allColumns: given.choice("columns", ["all"]) !== null,
    });
    update("coverage");
  },
});
