// The page of three classes or more: any costs of any mistakes, decided by the least expected cost.

const usual = { row: 0, times: 1, low: 1, high: 10 };
const state = {
  costs: usualCosts(),
  row: usual.row, // the class whose mistakes cost more,
  times: usual.times, // so many times as much,
  range: { low: usual.low, high: usual.high }, // or from so many to so many times
  along: null,
  decided: new Uint8Array(size),
  allColumns: false,
};
let address = null;
const effective = () => timesRow(state.costs, state.row, state.times);

// -- the table of costs -------------------------------------------------------------------------

const inputs = [];
const wrongInput = element("p", { class: "hint wrong", role: "alert" });
const heads = () => names.map((name) => element("th", { scope: "col" }, "taken for ", element("b", {}, name)));
const corner = () => element("td", {}, data.target ? element("span", { class: "target" }, data.target) : "");
const editor = element(
  "div",
  { class: "scroll", tabindex: "0", role: "region", "aria-label": "Costs of mistakes" },
  element(
    "table",
    { class: "costs", id: "costs" },
    element("caption", { class: "hidden" }, "Costs: rows for what a case really is, columns for what it is taken for"),
    element("thead", {}, element("tr", {}, corner(), ...heads())),
    element("tbody", {}, ...names.map((name, i) => element("tr", {},
      element("th", { scope: "row" }, "really ", element("b", {}, name)),
      ...names.map((other, j) => {
        const input = element("input", {
          type: "number", step: "any", inputmode: "decimal", autocomplete: "off", id: `cost-${i}-${j}`, class: i === j ? "right" : "",
          "aria-label": i === j ? `Cost where ${name} is recognised` : `Cost where ${name} is taken for ${other}`,
        });
        input.addEventListener("input", () => {
          const value = input.valueAsNumber;
          const fits = Number.isFinite(value) && Math.abs(value) <= 1e12;
          input.setAttribute("aria-invalid", String(!fits));
          wrongInput.textContent = fits ? "" : `${name} taken for ${other}: enter a number`;
          if (!fits) return;
          state.costs[i][j] = value;
          update("costs");
        });
        inputs.push([input, i, j]);
        return element("td", {}, input);
      })))),
  ),
);
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

const rowChoice = choice("Mistakes on", names.map((name, i) => [i, name]), (row) => {
  state.row = Number(row);
  update("costs");
}, { id: "row" });
const timesField = numberField({
  label: "cost this many times as much", id: "times", min: 1, max: MOST_TIMES, take: setTimes,
});
const timesSlider = element("input", { type: "range", id: "times-slider", min: 0, max: 1, step: "any", "aria-label": "How many times as much mistakes on this class cost" });
timesSlider.addEventListener("input", () => setTimes(TIMES.tau(timesSlider.valueAsNumber)));
timesSlider.addEventListener("keydown", (event) => {
  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 };
  const to = event.key === "Home" ? 0 : event.key === "End" ? 1
    : event.key in steps ? TIMES.position(state.times) + steps[event.key] / (event.shiftKey ? 200 : 20) : null;
  if (to === null || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  setTimes(TIMES.tau(clamp(to, 0, 1)));
});
const timesTicks = element("div", { class: "scale", "aria-hidden": "true" }, ...TIMES.ticks.map(([times, text]) => {
  const tick = element("span", {}, text);
  tick.style.setProperty("--at", TIMES.position(times));
  return tick;
}));

// -- what happens then --------------------------------------------------------------------------

const headline = element("p", { class: "headline", id: "headline" });
const constantNote = element("p", { class: "warning", id: "constant" });
const matrixCells = names.map((_, i) => names.map((_, j) => ({
  big: element("span", { class: "big", id: `cell-${i}-${j}` }), small: element("span", { class: "small" }),
})));
const matrix = element(
  "div",
  { class: "scroll", tabindex: "0", role: "region", "aria-label": "Decisions at your costs" },
  element(
    "table",
    { class: "matrix", id: "matrix" },
    element("caption", {}, `Of these ${sayCount(n)} cases`),
    element("thead", {}, element("tr", {}, corner(), ...heads())),
    element("tbody", {}, ...names.map((name, i) => element("tr", {},
      element("th", { scope: "row" }, "really ", element("b", {}, name)),
      ...names.map((_, j) => element("td", { class: i === j ? "heat right" : "heat" }, matrixCells[i][j].big, matrixCells[i][j].small))))),
  ),
);
const RATE_HEADS = [["class", false], ["cases", true], ["found", true], ["taken for it", true], ["of these right", true], ["share of the cost", true]];
const rateTable = table("Each class at your costs", RATE_HEADS, [], "rates");

const sayTotal = (cost) => (cost >= 1000 ? sayCount(cost) : say(cost, 4));

function showOutcome() {
  const costs = effective();
  const { counts, mean, total, band } = outcome(costs, state.decided);
  const right = names.reduce((sum, _, i) => sum + counts[i][i], 0);
  const blind = withoutLooking(costs);
  names.forEach((_, i) => names.forEach((_, j) => {
    const share = perClass[i] ? counts[i][j] / perClass[i] : 0;
    matrixCells[i][j].big.textContent = sayCount(counts[i][j]);
    matrixCells[i][j].small.textContent = perClass[i] ? percent(share) : "";
    matrixCells[i][j].big.parentElement.style.setProperty("--part", share);
  }));
  const taken = names.map((_, j) => counts.reduce((sum, line) => sum + line[j], 0));
  rateTable.querySelector("tbody").replaceChildren(...names.map((name, i) => tableRow([
    name, sayCount(perClass[i]), percent(counts[i][i] / perClass[i]), sayCount(taken[i]), percent(counts[i][i] / taken[i]),
    percent(costs[i].reduce((sum, cost, j) => sum + cost * counts[i][j], 0) / total),
  ], RATE_HEADS)));
  const first = `Of ${sayCount(n)} cases, ${counted(n - right, "is mistaken", "are mistaken")}`;
  const rest = `; that costs ${say(mean)} per case (95 %: ${say(mean - band, 2)} to ${say(mean + band, 2)}), ${sayTotal(total)} in total. Without looking, the cheapest is to take every case for ${names[blind.best]}: ${say(blind.cost)} per case.`;
  headline.replaceChildren(seenMark(), element("b", {}, first), rest);
  const only = taken.findIndex((count) => count === n);
  const worse = only < 0 && blind.cost < mean;
  constantNote.hidden = only < 0 && !worse;
  constantNote.replaceChildren(...(worse
    ? [element("b", {}, "At these costs the model does worse than deciding without looking:"), ` taking every case for ${names[blind.best]} would have cost ${say(mean - blind.cost, 2)} less per case.`]
    : [element("b", {}, `At these costs every case is taken for ${names[Math.max(only, 0)]}.`), " That is deciding without looking."]));
  announce(`${first}${rest}`);
  timesSlider.setAttribute("aria-valuetext", `${say(state.times)} times: ${first}`);
}

// -- single cases -------------------------------------------------------------------------------

const sayRow = (i) => String(cases.rows[i] + 1);
const chances = (row) => names.map((_, j) => percent(proba[row * k + j]));
const chanceHeads = names.map((name) => [`P(${name})`, true]);
const columns = cases && new ColumnChoice(cases.columns, state, () => {
  columns.show();
  showCases();
  address?.changed();
});
const sayChanges = (i) => {
  const { low, high } = state.range;
  const from = state.along.decided(i, low);
  return [names[from], ...state.along.changes(i, low, high).map(([when, j]) => `${names[j]} from ×\u2009${say(when)}`)].join(" → ");
};
const mistakes = cases && new CaseTable({
  caption: "Mistakes at your costs", id: "mistakes-table", onMore: () => showCases(),
  heads: [["row", true], [data.target ?? "really", false], ["taken for", false], ["cost", true], ...chanceHeads],
  row: (i) => {
    const row = cases.rows[i];
    const [real, decision] = [truth[row], state.decided[row]];
    return [sayRow(i), names[real], names[decision], say(effective()[real][decision]), ...chances(row)];
  },
});
const flips = cases && new CaseTable({
  caption: "Cases whose decision changes", id: "flips-table", onMore: () => showCases(),
  heads: [["row", true], [data.target ?? "really", false], ["taken for", false], ...chanceHeads],
  row: (i) => [sayRow(i), names[truth[cases.rows[i]]], sayChanges(cases.rows[i]), ...chances(cases.rows[i])],
});
const flipSummary = element("p", { class: "summary", id: "flips" });
const rangeField = (end, label) => numberField({
  label, id: `times-${end}`, min: 1, max: MOST_TIMES, hint: "times as much",
  take: (value) => {
    const range = { ...state.range, [end]: value };
    if (range.low > range.high) return "the first must not be larger than the second";
    state.range = range;
    showFlips();
    address?.changed();
    return "";
  },
});
const lowField = rangeField("low", "Mistakes on this class cost at least");
const highField = rangeField("high", "and at most");

const someOnly = () => (cases.rows.length < n
  ? ` Of ${sayCount(n)} cases, the ${sayCount(cases.rows.length)} that the model is most wrong about are listed; all are in the counts.` : "");

function showFlips() {
  const { low, high } = state.range;
  lowField.show(low);
  highField.show(high);
  let changing = 0;
  for (let i = 0; i < size; i++) if (state.along.changes(i, low, high).length) changing += alike[i];
  flipSummary.replaceChildren(
    element("b", {}, `${counted(changing, "case changes", "cases change")} if mistakes on ${names[state.row]} cost ${say(low)} to ${say(high)} times as much`),
    `, and deserve an expert's look. The decision about the other ${sayCount(n - changing)} is the same throughout.`);
  if (!cases) return;
  const list = Array.from(cases.rows.keys()).filter((i) => state.along.changes(cases.rows[i], low, high).length);
  const near = (i) => Math.min(...state.along.changes(cases.rows[i], low, high).map(([when]) => Math.abs(Math.log(when / state.times))));
  list.sort((i, j) => near(i) - near(j) || cases.rows[i] - cases.rows[j]);
  flips.show(list, columns.shown(), list.length
    ? `${sayCount(Math.min(list.length, flips.most))} of ${sayCount(list.length)}, those that change closest to × ${say(state.times)} first. Row 1 is the first case.${someOnly()}` : `None.${someOnly()}`);
}

function showCases() {
  showFlips();
  if (!cases) return;
  const costs = effective();
  const wrong = Array.from(cases.rows.keys()).filter((i) => state.decided[cases.rows[i]] !== truth[cases.rows[i]]);
  const cost = (i) => costs[truth[cases.rows[i]]][state.decided[cases.rows[i]]];
  wrong.sort((i, j) => cost(j) - cost(i) || i - j);
  mistakes.show(wrong, columns.shown(), wrong.length
    ? `${sayCount(Math.min(mistakes.most, wrong.length))} of ${sayCount(wrong.length)}, the most expensive first, then those whose own class got the least probability. Row 1 is the first case.${someOnly()}`
    : `None at these costs.${someOnly()}`);
}

// -- taking it along ----------------------------------------------------------------------------

const commandLine = copyLine("Command", "command");
const pythonLine = copyLine("Python", "python");
const neat = (cost) => Number(cost.toPrecision(12));

function showCommands() {
  const { shell, python } = data.files ?? { shell: ["model.tau", "data.csv"], python: null };
  const matrixText = `[${effective().map((line) => `[${line.map((cost) => String(neat(cost))).join(", ")}]`).join(", ")}]`;
  commandLine.show(`taupath predict ${shell[0]} ${shell[1]} --cost-matrix costs.csv -o decisions.csv`);
  pythonLine.show(python ? `tp.load(${python[0]}).predict(${python[1]}, cost_matrix=${matrixText})` : `model.predict(X, cost_matrix=${matrixText})`);
}

/** The decisions at these costs as a CSV file, in the order of the rows. */
function decisionsFile() {
  const known = cases.columns.filter((column) => !column.feature);
  const order = Array.from(cases.rows.keys()).sort((i, j) => cases.rows[i] - cases.rows[j]);
  return csvText(
    ["row", ...known.map((column) => column.name), data.target ?? "truth", "decision", ...names.map((name) => `probability of ${name}`)],
    order.map((i) => {
      const row = cases.rows[i];
      return [row + 1, ...known.map((column) => column.texts[i]), names[truth[row]], names[state.decided[row]], ...names.map((_, j) => proba[row * k + j])];
    }),
  );
}

const costsFile = () => csvText(names, effective().map((line) => line.map(neat)));

// -- the page -----------------------------------------------------------------------------------

const timesCharts = [foundChart(state, setTimes), timesCostChart(state, setTimes)];
const charts = names.map((name, i) => reliabilityChart(data.reliability[i], name, { title: `Reliability: ${name}`, note: null }));
let redraw = false;
let pending = 0;

/** Show the present state, after "costs" or "times" have changed. */
function update(what) {
  if (what === "costs") {
    state.along = new Along(state.costs, state.row);
    redraw = true;
  }
  const costs = effective();
  for (let row = 0; row < size; row++) state.decided[row] = decide(row, costs);
  timesField.show(state.times, 4);
  timesSlider.value = String(TIMES.position(state.times));
  timesSlider.style.setProperty("--at", TIMES.position(state.times));
  showOutcome();
  showCommands();
  if (!pending) pending = requestAnimationFrame(drawAll);
  address?.changed();
}

function drawAll() {
  pending = 0;
  for (const chart of timesCharts) {
    if (redraw) chart.draw();
    else chart.move();
  }
  redraw = false;
  columns?.show();
  showCases();
}

const aggregate = data.parts ? ` Probabilities in this file are rounded to ${sayCount(data.parts)}ths: a few decisions close to a tie may differ from the model's.` : "";
startPage([
  headline,
  seenNote(),
  constantNote,
  element("div", { class: "first" },
    element("section", { class: "card", "aria-labelledby": "costs-title" },
      element("h2", { id: "costs-title" }, "What do mistakes cost you?"),
      element("p", { class: "note" }, "Each row is what a case really is, each column what it is taken for. Any unit will do."),
      editor, wrongInput, element("div", { class: "actions" }, reset)),
    element("section", { class: "card", "aria-labelledby": "outcome-title" },
      element("h2", { id: "outcome-title" }, "What happens then"), matrix,
      element("p", { class: "note" }, `Each case gets the class with the least expected cost.${aggregate}`))),
  section("one-class", "What if mistakes on one class cost more?",
    element("div", { class: "card times" },
      element("div", { class: "times-fields" }, rowChoice, timesField.node),
      element("div", { class: "rail" }, timesSlider, timesTicks)),
    element("div", { class: "grid two spaced-grid" }, ...timesCharts.map((chart) => chart.node)),
    element("div", { class: "card spaced-grid" }, element("h3", {}, "Each class at your costs"), rateTable)),
  section("which", "Which cases change?",
    element("div", { class: "card" },
      element("div", { class: "fields two" }, lowField.node, highField.node),
      flipSummary,
      cases ? element("div", { class: "bar-of" }, columns.button("all-columns")) : null,
      ...(cases ? [flips.scroller, flips.more, flips.note] : []))),
  cases && section("mistakes", "Mistakes at your costs",
    element("div", { class: "card" }, mistakes.scroller, mistakes.more, mistakes.note)),
  section("charts", "Can the probabilities be trusted?",
    chartGrid(charts),
    element("p", { class: "note" }, "Bars: how the cases spread over the predictions. Whiskers: 95 % intervals. Near the diagonal is good.")),
  section("export", "Take it with you", element("div", { class: "card" },
    element("div", { class: "actions first-actions" },
      cases ? downloadButton("Save decisions.csv", "decisions.csv", decisionsFile, { id: "save-decisions" }) : null,
      downloadButton("Save costs.csv", "costs.csv", costsFile, { id: "save-costs", class: cases ? "quiet" : "" }),
      element("span", { class: "note" }, cases ? `Every case with its decision at your costs, and the costs for the command below.${cases.rows.length < n ? ` Of the ${sayCount(cases.rows.length)} cases in this file; the command decides all.` : ""}` : "The costs for the command below.")),
    commandLine.node, pythonLine.node)),
  originSection(),
  glossary([
    ["Decision", "The expected cost of taking a case for a class is the sum of the costs in that column, each weighted by the probability of its row. The class with the smallest sum is chosen."],
    ["Without looking", "Taking every case for the same class, the one that costs least."],
    ["95 % band", "How far the cost per case may be off because there are only so many cases. It says nothing about cases of another kind."],
    ["Found", "Share of a class that is taken for what it is."],
    ["Probability", "Read off the exact solution paths of the support vector machines between pairs of classes, and combined. No calibration data were used."],
  ]),
]);

const isUsual = () => state.costs.every((line, i) => line.every((cost, j) => cost === (i === j ? 0 : 1)));
address = keepInAddress({
  save: () => ({
    costs: isUsual() ? null : state.costs.flat().map(neat).join(","),
    row: state.row === usual.row ? null : state.row,
    times: state.times === usual.times ? null : state.times,
    range: state.range.low === usual.low && state.range.high === usual.high ? null : `${state.range.low},${state.range.high}`,
    columns: state.allColumns ? "all" : null,
  }),
  restore: (given) => {
    const costs = given.numbers("costs", k * k, -1e12, 1e12);
    const range = given.numbers("range", 2, 1, MOST_TIMES);
    Object.assign(state, {
      costs: costs ? names.map((_, i) => costs.slice(i * k, (i + 1) * k)) : usualCosts(),
      row: given.integer("row", 0, k - 1) ?? usual.row,
      times: given.number("times", 1, MOST_TIMES) ?? usual.times,
      range: range && range[0] <= range[1] ? { low: range[0], high: range[1] } : { low: usual.low, high: usual.high },
      allColumns: given.choice("columns", ["all"]) !== null,
    });
    rowChoice.querySelector("select").value = String(state.row);
    showInputs();
    update("costs");
  },
});
