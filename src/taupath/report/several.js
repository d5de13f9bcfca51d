// The page of three classes or more: any cost matrix, decided by the least expected cost.

const names = data.classes;
const k = names.length;
const truth = unpack(data.truth);
const proba = unpack(data.proba);
const n = truth.length;
const caseRows = unpack(data.cases.rows);
const perClass = Array.from({ length: k }, (_, i) => truth.reduce((sum, t) => sum + (t === i ? 1 : 0), 0));

/** costs[i][j]: what predicting class j costs where i is true. */
const costs = Array.from({ length: k }, (_, i) => Array.from({ length: k }, (_, j) => (i === j ? 0 : 1)));
const decided = new Uint8Array(n);

function expected(row, j) {
  let sum = 0;
  for (let i = 0; i < k; i++) sum += proba[row * k + i] * costs[i][j];
  return sum;
}

/** The class with the least expected cost; of several, the first. */
function decide(row) {
  let best = 0;
  let least = expected(row, 0);
  for (let j = 1; j < k; j++) {
    const cost = expected(row, j);
    if (cost < least) [best, least] = [j, cost];
  }
  return best;
}

// -- the cost matrix ----------------------------------------------------------------------------

const inputs = [];
const wrongInput = element("p", { class: "hint wrong", role: "alert" });
const editor = element(
  "div",
  { class: "scroll", tabindex: "0", role: "region", "aria-label": "Costs of mistakes" },
  element(
    "table",
    { class: "costs", id: "costs" },
    element("caption", { class: "hidden" }, "Costs: rows for what a case really is, columns for what it is taken for"),
    element("thead", {}, element("tr", {}, element("td", {}), ...names.map((name) => element("th", { scope: "col" }, "taken for ", element("b", {}, name))))),
    element("tbody", {}, ...names.map((name, i) => element("tr", {},
      element("th", { scope: "row" }, "really ", element("b", {}, name)),
      ...names.map((other, j) => {
        const input = element("input", {
          type: "number", step: "any", inputmode: "decimal", value: String(costs[i][j]), id: `cost-${i}-${j}`,
          "aria-label": `Cost where ${name} is taken for ${other}`,
        });
        input.addEventListener("input", () => {
          const fits = Number.isFinite(input.valueAsNumber) && Math.abs(input.valueAsNumber) <= 1e12;
          input.setAttribute("aria-invalid", String(!fits));
          wrongInput.textContent = fits ? "" : `${name} taken for ${other}: a number is needed`;
          if (!fits) return;
          costs[i][j] = input.valueAsNumber;
          update();
        });
        inputs.push([input, i, j]);
        return element("td", {}, input);
      })))),
  ),
);
const reset = button("All mistakes alike", () => {
  for (const [input, i, j] of inputs) {
    costs[i][j] = i === j ? 0 : 1;
    input.value = String(costs[i][j]);
    input.setAttribute("aria-invalid", "false");
  }
  wrongInput.textContent = "";
  update();
}, { class: "quiet", id: "reset-costs" });

// -- what happens then --------------------------------------------------------------------------

const headline = element("p", { class: "headline", id: "headline" });
const matrixCells = names.map((_, i) => names.map((_, j) => ({
  big: element("span", { class: "big", id: `cell-${i}-${j}` }), small: element("span", { class: "small" }),
})));
const matrix = element(
  "div",
  { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion matrix" },
  element(
    "table",
    { class: "matrix", id: "matrix" },
    element("caption", {}, `Of these ${sayCount(n)} cases`),
    element("thead", {}, element("tr", {}, element("td", {}), ...names.map((name) => element("th", { scope: "col" }, "taken for ", element("b", {}, name))))),
    element("tbody", {}, ...names.map((name, i) => element("tr", {},
      element("th", { scope: "row" }, "really ", element("b", {}, name)),
      ...names.map((_, j) => element("td", { class: i === j ? "heat right" : "heat" }, matrixCells[i][j].big, matrixCells[i][j].small))))),
  ),
);

const HEADS = [
  ["row", true], ["really", false], ["taken for", false], ["cost", true],
  ...names.map((name) => [`P(${name})`, true]),
  ...data.cases.columns.map((column) => [column.name, column.numeric]),
];
const mistakeTable = table("Mistakes at these costs", HEADS, [], "mistakes-table");
const mistakeNote = element("p", { class: "note", id: "mistakes-note" });
const SHOWN = 30;

function showMistakes() {
  const wrong = Array.from(caseRows.keys()).filter((i) => decided[caseRows[i]] !== truth[caseRows[i]]);
  const cost = (i) => costs[truth[caseRows[i]]][decided[caseRows[i]]];
  wrong.sort((i, j) => cost(j) - cost(i) || i - j);
  mistakeTable.querySelector("tbody").replaceChildren(...wrong.slice(0, SHOWN).map((i) => {
    const row = caseRows[i];
    return tableRow([
      String(row + 1), names[truth[row]], names[decided[row]], say(cost(i)),
      ...names.map((_, j) => percent(proba[row * k + j])),
      ...data.cases.columns.map((column) => column.texts[i]),
    ], HEADS);
  }));
  const some = caseRows.length < n ? ` Of ${sayCount(n)} cases, the ${sayCount(caseRows.length)} that the model is most wrong about are here; all are in the numbers above.` : "";
  mistakeNote.textContent = (wrong.length ? `${sayCount(Math.min(SHOWN, wrong.length))} of ${sayCount(wrong.length)}, the most expensive first, then those whose own class got the least probability. Row 1 is the first case.` : "None at these costs.") + some;
}

function update() {
  const counts = names.map(() => new Float64Array(k));
  let total = 0;
  let right = 0;
  for (let row = 0; row < n; row++) {
    decided[row] = decide(row);
    counts[truth[row]][decided[row]] += 1;
    total += costs[truth[row]][decided[row]];
    right += truth[row] === decided[row] ? 1 : 0;
  }
  names.forEach((name, i) => names.forEach((_, j) => {
    const share = perClass[i] ? counts[i][j] / perClass[i] : 0;
    matrixCells[i][j].big.textContent = sayCount(counts[i][j]);
    matrixCells[i][j].small.textContent = perClass[i] ? percent(share) : "";
    matrixCells[i][j].big.parentElement.style.setProperty("--part", share);
  }));
  const first = `Of ${sayCount(n)} cases, ${counted(n - right, "is mistaken", "are mistaken")}`;
  headline.replaceChildren(element("b", {}, first), `; cost ${say(total / n)} per case, accuracy ${percent(right / n)}.`);
  announce(headline.textContent);
  showMistakes();
}

const charts = names.map((name, i) => reliabilityChart(data.reliability[i], name, { title: `Reliability: ${name}`, note: null }));

startPage([
  headline,
  element("div", { class: "first" },
    element("section", { class: "card", "aria-labelledby": "costs-title" },
      element("h2", { id: "costs-title" }, "What do mistakes cost you?"),
      element("p", { class: "note" }, "Rows: what a case really is. Columns: what it is taken for."),
      editor, wrongInput, element("div", { class: "actions" }, reset)),
    element("section", { class: "card", "aria-labelledby": "outcome-title" },
      element("h2", { id: "outcome-title" }, "What happens then"), matrix)),
  section("mistakes", "Mistakes at these costs", element("div", { class: "card" }, mistakeTable, mistakeNote)),
  section("charts", "Can the probabilities be trusted?",
    chartGrid(charts),
    element("p", { class: "note" }, "Bars: how the cases spread over the predictions. Whiskers: 95 % intervals. Near the diagonal is good.")),
  originSection(),
  glossary([
    ["Decision", "Each case gets the class whose expected cost is least: the sum of the costs in its column, weighted by the probabilities of the classes."],
    ["Probability", "Read off the exact solution paths of the support vector machines between the classes, and coupled. No calibration data were used."],
  ]),
]);
update();
