// The page of three classes or more: any costs of any mistakes, decided by the least expected cost.

const usual = { row: 0, times: 1, low: 1, high: 10 };
const state = {
  costs: usualCosts(),
  row: usual.row, // the class whose mistakes cost more
  times: usual.times, // how many times as much
  range: { low: usual.low, high: usual.high }, // of this factor, for the cases that change
  effective: null, // costs with the factor; `update` sets this and the next two
  along: null,
  decided: new Uint8Array(size),
  allColumns: false,
};
let settingsChanged = () => {};

// -- the table of costs -------------------------------------------------------------------------

const inputs = [];
const wrongInput = element("p", { class: "hint wrong", role: "alert" });

function costCell(i, j) {
  const [name, other] = [names[i], names[j]];
  const input = element("input", {
    type: "number", step: "any", inputmode: "decimal", autocomplete: "off", id: `cost-${i}-${j}`, class: i === j ? "right" : "",
    "aria-label": i === j ? `Cost where ${name} is recognised` : `Cost where ${name} is taken for ${other}`,
  });
  input.addEventListener("input", () => {
    const value = input.valueAsNumber;
    const fits = Number.isFinite(value) && Math.abs(value) <= LARGEST_COST;
    input.setAttribute("aria-invalid", String(!fits));
    wrongInput.textContent = fits ? "" : `${name} taken for ${other}: enter a number`;
    if (!fits) return;
    state.costs[i][j] = value;
    update("costs");
  });
  inputs.push([input, i, j]);
  return element("td", {}, input);
}

const editor = scroller("Costs of mistakes", decisionTable({ class: "costs", id: "costs" },
  element("caption", { class: "hidden" }, "Costs: rows for what a case really is, columns for what it is taken for"), names, costCell));
const reset = button("All mistakes cost the same", () => {
  state.costs = usualCosts();
  state.times = usual.times;
  showInputs();
  update("costs");
}, { class: "quiet", id: "reset-costs" });

function showInputs() {
  for (const [input, i, j] of inputs) {
    input.value = String(state.costs[i][j]);
    input.setAttribute("aria-invalid", "false");
  }
  wrongInput.textContent = "";
}

// -- one class costs more -----------------------------------------------------------------------

function setTimes(times) {
  state.times = clamp(times, 1, MOST_TIMES);
  update("times");
}

const rowChoice = choice("row", "Mistakes on", names.map((name, i) => [i, name]), (row) => {
  state.row = Number(row);
  update("costs");
});
const timesField = numberField({
  label: "cost this many times as much", id: "times", min: 1, max: MOST_TIMES, take: setTimes,
});
const timesSlider = new Slider(TIMES, setTimes, { id: "times-slider", "aria-label": "How many times as much mistakes on this class cost" });

// -- what happens then --------------------------------------------------------------------------

const headline = makeHeadline();
const constantNote = element("p", { class: "warning", id: "constant" });
const matrixCells = names.map(() => []);
const matrix = scroller("Decisions at your costs", decisionTable({ class: "matrix", id: "matrix" },
  element("caption", {}, `Of these ${sayCount(n)} cases`), names, (i, j) => {
    const [big, small] = [element("span", { class: "big", id: `cell-${i}-${j}` }), element("span", { class: "small" })];
    const cell = element("td", { class: i === j ? "heat right" : "heat" }, big, small);
    matrixCells[i][j] = { cell, big, small };
    return cell;
  }));
const RATE_HEADS = [["class", false], ["cases", true], ["found", true], ["taken for it", true], ["of these right", true], ["share of the cost", true]];
const rateTable = table("Each class at your costs", RATE_HEADS, "rates");

function showOutcome() {
  const costs = state.effective;
  const { counts, mean, total, band } = outcome(costs, state.decided);
  const right = names.reduce((sum, _, i) => sum + counts[i][i], 0);
  const taken = names.map((_, j) => counts.reduce((sum, line) => sum + line[j], 0));
  const blind = withoutLooking(costs);
  matrixCells.forEach((line, i) => line.forEach(({ cell, big, small }, j) => {
    const share = perClass[i] ? counts[i][j] / perClass[i] : 0;
    big.textContent = sayCount(counts[i][j]);
    small.textContent = perClass[i] ? percent(share) : "";
    cell.style.setProperty("--part", share);
  }));
  showRows(rateTable, RATE_HEADS, names.map((name, i) => [
    name, sayCount(perClass[i]), percent(counts[i][i] / perClass[i]), sayCount(taken[i]), percent(counts[i][i] / taken[i]),
    percent(costs[i].reduce((sum, cost, j) => sum + cost * counts[i][j], 0) / total),
  ]));
  const first = `Of ${sayCount(n)} cases, ${counted(n - right, "is misclassified", "are misclassified")}`;
  headline.show(first, `; that costs ${say(mean)} per case (95 %: ${sayBand(band)}), ${sayTotal(total)} in total. Without looking, the cheapest is to take every case for ${blind.name}: ${say(blind.cost)} per case.`);
  const only = names[taken.indexOf(n)]; // the class that all cases are taken for
  constantNote.hidden = only === undefined && !(blind.cost < mean);
  constantNote.replaceChildren(...(only === undefined
    ? [element("b", {}, "At these costs the model does worse than deciding without looking:"), ` taking every case for ${blind.name} would have cost ${say(mean - blind.cost, 2)} less per case.`]
    : [element("b", {}, `At these costs every case is taken for ${only}.`), " That is deciding without looking."]));
  timesField.show(state.times, 4);
  timesSlider.show(state.times, `${say(state.times)} times: ${first}`);
}

// -- single cases -------------------------------------------------------------------------------

const chances = (row) => names.map((_, j) => percent(proba[row * k + j]));
const chanceHeads = names.map((name) => [`P(${name})`, true]);
const columns = cases && new ColumnChoice(cases.columns, state, () => {
  columns.show();
  showCases();
  settingsChanged();
});
/** "setosa → virginica from × 3": the decisions about a case within the range. */
const sayChanges = (row) => {
  const { low, high } = state.range;
  const changes = state.along.changes(row, low, high).map(([when, j]) => `${names[j]} from ×\u2009${say(when)}`);
  return [names[state.along.decided(row, low)], ...changes].join(" → ");
};
/** A table of cases; `own(row)` are the cells between the true class and the probabilities. */
const makeTable = (caption, id, ownHeads, own) => cases && new CaseTable({
  caption, id, onMore: () => showCases(),
  heads: [["row", true], [data.target ?? "really", false], ...ownHeads, ...chanceHeads],
  row: (i) => {
    const row = cases.rows[i];
    return [String(row + 1), names[truth[row]], ...own(row), ...chances(row)];
  },
});
const costOf = (row) => state.effective[truth[row]][state.decided[row]];
const mistakes = makeTable("Mistakes at your costs", "mistakes-table", [["taken for", false], ["cost", true]],
  (row) => [names[state.decided[row]], say(costOf(row))]);
const flips = makeTable("Cases whose decision changes", "flips-table", [["taken for", false]], (row) => [sayChanges(row)]);
const flipSummary = element("p", { class: "summary", id: "flips" });
const rangeField = (end, label) => numberField({
  label, id: `times-${end}`, min: 1, max: MOST_TIMES, hint: "times as much",
  take: (value) => {
    const range = { ...state.range, [end]: value };
    if (range.low > range.high) return "the first must not be larger than the second";
    state.range = range;
    showFlips();
    settingsChanged();
    return "";
  },
});
const lowField = rangeField("low", "Mistakes on this class cost at least");
const highField = rangeField("high", "and at most");

function showFlips() {
  const { low, high } = state.range;
  const changes = (row) => state.along.changes(row, low, high);
  lowField.show(low);
  highField.show(high);
  const changing = alike.reduce((sum, count, i) => sum + (changes(i).length ? count : 0), 0);
  flipSummary.replaceChildren(
    element("b", {}, `${counted(changing, "case changes", "cases change")} if mistakes on ${names[state.row]} cost ${say(low)} to ${say(high)} times as much`),
    `${changing ? ": worth an expert's look" : ""}. The decision about the other ${sayCount(n - changing)} is the same throughout.`);
  if (!cases) return;
  const list = Array.from(cases.rows.keys()).filter((i) => changes(cases.rows[i]).length);
  const near = (i) => Math.min(...changes(cases.rows[i]).map(([when]) => Math.abs(Math.log(when / state.times))));
  list.sort((i, j) => near(i) - near(j) || cases.rows[i] - cases.rows[j]);
  flips.show(list, columns.shown(), {
    about: `, those that change closest to × ${say(state.times)} first. Row 1 is the first case.`,
    none: "None.", after: someOnly(cases, n),
  });
}

function showCases() {
  showFlips();
  if (!cases) return;
  const wrong = Array.from(cases.rows.keys()).filter((i) => state.decided[cases.rows[i]] !== truth[cases.rows[i]]);
  wrong.sort((i, j) => costOf(cases.rows[j]) - costOf(cases.rows[i]) || i - j);
  mistakes.show(wrong, columns.shown(), {
    about: ", the most expensive first, then those whose own class got the least probability. Row 1 is the first case.",
    none: "None at these costs.", after: someOnly(cases, n),
  });
}

// -- taking it along ----------------------------------------------------------------------------

/** The decisions at these costs as a CSV file. */
const decisionsFile = () => casesFile(
  cases, [data.target ?? "truth", "decision", ...names.map((name) => `probability of ${name}`)],
  (i) => {
    const row = cases.rows[i];
    return [names[truth[row]], names[state.decided[row]], ...proba.subarray(row * k, (row + 1) * k)];
  });
const neatCosts = () => state.effective.map((line) => line.map((cost) => neat(cost)));
const saveCosts = downloadButton("costs.csv", () => csvText(names, neatCosts()), { id: "save-costs", class: cases ? "quiet" : "" });
const taking = exportSection(
  cases ? [downloadButton("decisions.csv", decisionsFile, { id: "save-decisions" }), saveCosts] : [saveCosts],
  cases ? `Every case with its decision at your costs, and the costs for the command below.${savedOnly(cases, n)}` : "The costs for the command below.");

// -- the page -----------------------------------------------------------------------------------

const timesCharts = [foundChart(state, setTimes), timesCostChart(state, setTimes)];
const charts = names.map((name, i) => reliabilityChart(data.reliability[i], name, `Reliability: ${name}`));

const drawSoon = oncePerFrame((changed) => {
  refresh(timesCharts, changed);
  columns?.show();
  showCases();
});

/** Show the present state, after "costs" or "times" have changed. */
function update(setting) {
  if (setting === "costs") state.along = new Along(state.costs, state.row);
  state.effective = timesRow(state.costs, state.row, state.times);
  state.decided.forEach((_, i) => (state.decided[i] = decide(i, state.effective)));
  showOutcome();
  const matrixText = neatCosts().map((line) => `[${line.join(", ")}]`).join(", ");
  taking.show("--cost-matrix costs.csv -o decisions.csv", `cost_matrix=[${matrixText}]`);
  drawSoon(setting);
  settingsChanged();
}

const rounded = data.parts ? ` Probabilities in this file are rounded to ${sayCount(data.parts)}ths: a few decisions close to a tie may differ from the model's.` : "";
startPage(headline, [
  constantNote,
  element("div", { class: "first" },
    card("costs", "What do mistakes cost you?", { class: "card" },
      element("p", { class: "note" }, "Each row is what a case really is, each column what it is taken for. Any unit will do."),
      editor, wrongInput, element("div", { class: "actions" }, reset)),
    card("outcome", "What happens then", { class: "card" }, matrix,
      element("p", { class: "note" }, `Each case gets the class with the least expected cost.${rounded}`))),
  section("one-class", "What if mistakes on one class cost more?",
    element("div", { class: "card" },
      element("div", { class: "times-fields" }, rowChoice.node, timesField.node), timesSlider.node),
    element("div", { class: "grid two spaced-grid" }, ...timesCharts.map((chart) => chart.node)),
    element("div", { class: "card spaced-grid" }, element("h3", {}, "Each class at your costs"), rateTable)),
  section("which", "Which cases change?",
    element("div", { class: "card" },
      element("div", { class: "fields two" }, lowField.node, highField.node),
      flipSummary,
      ...(cases ? [element("div", { class: "bar-of" }, columns.button("all-columns")), ...flips.nodes] : []))),
  cases && section("mistakes", "Mistakes at your costs", element("div", { class: "card" }, ...mistakes.nodes)),
  section("charts", "Can the probabilities be trusted?",
    chartGrid(charts), element("p", { class: "note" }, RELIABILITY_NOTE)),
  taking.node,
], [
  ["Decision", "The expected cost of taking a case for a class is the sum of the costs in that column, each weighted by the probability of its row. The class with the smallest sum is chosen."],
  ["Without looking", "Taking every case for the same class, the one that costs least."],
  ["95 % band", "How far the cost per case may be off because there are only so many cases. It says nothing about cases of another kind."],
  ["Found", "Share of a class that is taken for what it is."],
  ["Probability", "Read off the exact solution paths of the support vector machines between pairs of classes, and combined. No calibration data were used."],
]);

const isUsual = () => state.costs.every((line, i) => line.every((cost, j) => cost === (i === j ? 0 : 1)));
settingsChanged = keepInAddress({
  save: () => ({
    costs: isUsual() ? null : state.costs.flat().map((cost) => neat(cost)).join(","),
    row: state.row === usual.row ? null : state.row,
    times: state.times === usual.times ? null : state.times,
    range: state.range.low === usual.low && state.range.high === usual.high ? null : `${state.range.low},${state.range.high}`,
    columns: state.allColumns ? "all" : null,
  }),
  restore: (given) => {
    const costs = given.numbers("costs", k * k, -LARGEST_COST, LARGEST_COST);
    const [low, high] = given.numbers("range", 2, 1, MOST_TIMES) ?? [usual.low, usual.high];
    Object.assign(state, {
      costs: costs ? names.map((_, i) => costs.slice(i * k, (i + 1) * k)) : usualCosts(),
      row: given.integer("row", 0, k - 1) ?? usual.row,
      times: given.number("times", 1, MOST_TIMES) ?? usual.times,
      range: low <= high ? { low, high } : { low: usual.low, high: usual.high },
      allColumns: given.choice("columns", ["all"]) !== null,
    });
    rowChoice.show(state.row);
    showInputs();
    update("costs");
  },
});
