// The page of quantile regression: from what being too high or too low costs, to the quantile.

const usual = { tau: data.tau, coverage: 0.8, fan: 0 };
const state = { tau: usual.tau, costOver: 1, costUnder: 1, coverage: usual.coverage, fan: usual.fan, allColumns: false };
let address = null;
const neat = (cost) => Number(cost.toPrecision(12));

// -- what the reader may change -----------------------------------------------------------------

function setTau(tau) {
  state.tau = tau;
  const sum = state.costOver + state.costUnder;
  [state.costUnder, state.costOver] = [neat(tau * sum), neat((1 - tau) * sum)];
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
  label: "Too high by 1 costs", id: "cost-over", min: 0, max: 1e12, hint: "the prediction is above the true value",
  take: (value) => setCosts(value, state.costUnder),
});
const underField = numberField({
  label: "Too low by 1 costs", id: "cost-under", min: 0, max: 1e12, hint: "the prediction is below the true value",
  take: (value) => setCosts(state.costOver, value),
});
const coverageField = numberField({
  label: "Interval for", id: "coverage", min: 1, max: 99, unit: "%", hint: "of all cases, as many above it as below",
  take: (value) => {
    state.coverage = value / 100;
    update(true);
  },
});
const control = new TauControl({
  label: "Quantile τ that is predicted",
  low: "too high costs more: predict little", high: "too low costs more: predict much",
  changes: below, take: setTau, step: "a case changes sides",
});

// -- what is shown ------------------------------------------------------------------------------

const headline = element("p", { class: "headline live", id: "headline" });
const METRICS = [
  ["above", "Cases above the prediction", () => `${sayCount(n * (1 - shareUpTo(state.tau)))} of ${sayCount(n)}`],
  ["share", "Cases at or below it", () => percent(shareUpTo(state.tau), 2)],
  ["loss", "Mean pinball loss", () => say(pinball(state.tau), 4)],
  ["covered", "Cases inside the interval", () => percent(interval(state.coverage).share, 2)],
  ["width", "Mean width of the interval", () => say(interval(state.coverage).width, 4)],
  ["mean", "Mean prediction", () => say(meanAt("quantile", state.tau), 4)],
];
const metricCells = {};
const metrics = element("dl", { class: "metrics" }, ...METRICS.map(([id, name]) => {
  metricCells[id] = element("dd", { id: `metric-${id}` });
  return element("div", {}, element("dt", {}, name), metricCells[id]);
}));

function showHeadline() {
  const above = n - upperBound(below, state.tau);
  const inside = interval(state.coverage);
  const [mine, same] = [costOf(state), constantCost(state)];
  const first = `At your costs, predict the ${percent(state.tau)} quantile${data.target ? ` of ${target}` : ""}`;
  const rest = `: ${sayCount(above)} of ${sayCount(n)} cases turn out larger (${percent(above / n)}; ${percent(1 - state.tau)} expected). Being off costs ${say(mine)} per case; the best single number for all cases would cost ${say(same)}. The interval meant for ${percent(state.coverage, 0)} of the cases contains ${percent(inside.share)}.`;
  headline.replaceChildren(seenMark(), element("b", {}, first), rest);
  announce(first + rest);
  return first + rest;
}

// -- cases --------------------------------------------------------------------------------------

let off = [];
const columns = cases && new ColumnChoice(cases.columns, state, () => {
  showCases();
  address?.changed();
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
  off = Array.from({ length: m }, (_, i) => functions.value(i, state.tau) - cases.y[i]);
  const cost = (i) => (off[i] > 0 ? state.costOver * off[i] : -state.costUnder * off[i]);
  const order = Array.from(off.keys()).sort((i, j) => cost(j) - cost(i) || i - j);
  const some = m < n ? ` Of ${sayCount(n)} cases ${sayCount(m)} are listed, half of them those furthest from their medians; all are in the shares and means above.` : "";
  caseTable.show(order, columns.shown(),
    `${sayCount(Math.min(m, caseTable.most))} of ${sayCount(m)}, those that cost most at your costs first. Predictions are ${sayOff(functions)}. Row 1 is the first case.${some}`);
}

// -- taking it along ----------------------------------------------------------------------------

const commandLine = copyLine("Command", "command");
const pythonLine = copyLine("Python", "python");

/** The quantile that is predicted and the ends of the interval, in order. */
function levels() {
  const { low, high } = interval(state.coverage);
  return [...new Set([low, state.tau, high].map((tau) => Number(tau.toPrecision(6))))].sort((a, b) => a - b);
}

function showCommands() {
  const { shell, python } = data.files ?? { shell: ["model.tau", "data.csv"], python: null };
  commandLine.show(`taupath predict ${shell[0]} ${shell[1]} --quantiles ${levels().join(" ")} -o quantiles.csv`);
  const asked = `quantile=[${levels().join(", ")}]`;
  pythonLine.show(python ? `tp.load(${python[0]}).predict(${python[1]}, ${asked})` : `model.predict(X, ${asked})`);
}

/** Predicted quantiles as a CSV file, in the order of the rows. */
function quantilesFile() {
  const known = cases.columns.filter((column) => !column.feature);
  const order = Array.from(cases.rows.keys()).sort((i, j) => cases.rows[i] - cases.rows[j]);
  return csvText(
    ["row", ...known.map((column) => column.name), data.target ?? "actual", ...levels().map((tau) => `quantile ${tau}`)],
    order.map((i) => [
      cases.rows[i] + 1, ...known.map((column) => column.texts[i]), cases.y[i],
      ...levels().map((tau) => Number(functions.value(i, tau).toPrecision(5))),
    ]),
  );
}

// -- the page -----------------------------------------------------------------------------------

const mainChart = cases ? fanChart(state, () => address?.changed()) : meanChart(state, setTau);
const charts = [
  calibrationChart(state, setTau), lossChart(state, setTau), coverageChart(state),
  data.coefficients ? coefficientChart(data.coefficients, () => state.tau, setTau, { x: "quantile τ", rises: data.target ? `the predicted ${target} rises` : "the prediction rises" }) : null,
].filter((chart) => chart !== null);
const weights = data.coefficients && weightsCard(data.coefficients, () => state.tau);
let redraw = false;
let pending = 0;

/** Show the present state; `curves` if more than τ has changed. */
function update(curves) {
  control.show(state.tau, showHeadline());
  overField.show(state.costOver, 5);
  underField.show(state.costUnder, 5);
  coverageField.show(100 * state.coverage, 6);
  for (const [id, , value] of METRICS) metricCells[id].textContent = value();
  showCommands();
  redraw = redraw || curves;
  if (!pending) pending = requestAnimationFrame(drawAll);
  address?.changed();
}

function drawAll() {
  pending = 0;
  for (const chart of [mainChart, ...charts]) {
    if (redraw) chart.draw();
    else chart.move();
  }
  redraw = false;
  weights?.show();
  showCases();
}

const rounded = data.levels ? ` Shares are right at ${sayCount(data.levels)} values of τ, all thousandths among them.` : "";
startPage([
  headline,
  seenNote(),
  element("div", { class: "first" },
    element("section", { class: "card controls", "aria-labelledby": "controls-title" },
      element("h2", { id: "controls-title" }, "What does it cost to be off?"),
      element("div", { class: "fields" }, overField.node, underField.node, coverageField.node),
      control.node,
      element("h2", { class: "spaced", id: "outcome-title" }, "What happens then"), metrics,
      rounded ? element("p", { class: "note" }, rounded) : null),
    mainChart.node),
  section("charts", "At every quantile", chartGrid(charts)),
  weights && section("weights", "Weights at your costs", weights.node),
  cases && section("mistakes", "The most expensive predictions at your costs", element("div", { class: "card" },
    element("div", { class: "bar-of" }, columns.button("all-columns")),
    caseTable.scroller, caseTable.more, caseTable.note)),
  section("export", "Take it with you", element("div", { class: "card" },
    cases ? element("div", { class: "actions first-actions" },
      downloadButton("Save quantiles.csv", "quantiles.csv", quantilesFile, { id: "save-quantiles" }),
      element("span", { class: "note" }, `The prediction at your costs and the ends of the interval, ${sayOff(functions)}; the command gives them exactly${m < n ? `, and for all ${sayCount(n)} cases instead of the ${sayCount(m)} in this file` : ""}.`)) : null,
    commandLine.node, pythonLine.node)),
  originSection(),
  glossary([
    ["Quantile τ", "The number that a share τ of all cases should stay at or below. τ is the cost of being too low, divided by the sum of both costs; the τ-quantile is the prediction with the least expected cost."],
    ["Pinball loss", "What being off costs per case, where 1 too low costs τ and 1 too high costs 1 − τ."],
    ["Best single number", "The same prediction for all cases, chosen with hindsight: what the columns are worth is the difference to it."],
    ["Interval", "From one quantile to another, with as many cases expected below as above. A case on its edge is inside."],
    ["Are the quantiles right?", "On the diagonal, as many cases are at or below the predicted quantile as expected."],
  ]),
]);

address = keepInAddress({
  save: () => ({
    over: neat(state.costOver), under: neat(state.costUnder),
    interval: state.coverage === usual.coverage ? null : neat(100 * state.coverage),
    fan: state.fan === usual.fan ? null : state.fan,
    columns: state.allColumns ? "all" : null,
  }),
  restore: (given) => {
    const [over, under] = [given.number("over", 0, 1e12), given.number("under", 0, 1e12)];
    const told = over !== null && under !== null && over + under > 0;
    const sum = usual.tau === 0.5 ? 2 : 1;
    Object.assign(state, {
      tau: told ? under / (over + under) : usual.tau,
      costOver: told ? over : neat((1 - usual.tau) * sum),
      costUnder: told ? under : neat(usual.tau * sum),
      coverage: (given.number("interval", 1, 99) ?? 100 * usual.coverage) / 100,
      fan: given.integer("fan", 0, Math.max(fans.length - 1, 0)) ?? usual.fan,
      allColumns: given.choice("columns", ["all"]) !== null,
    });
    const chosen = document.getElementById("fan");
    if (chosen) chosen.value = String(state.fan);
    update(true);
  },
});
