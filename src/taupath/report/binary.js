// The page of two classes: from costs to τ, and from τ to what happens.

/**
 * Counts over τ. `when` are the τ after which a prediction changes, in order; the pieces between
 * them have no change inside. Piece k holds for when[k - 1] < τ ≤ when[k].
 */
class Counts {
  constructor(events) {
    this.when = unpack(events.when);
    const steps = unpack(events.step);
    this.falseAlarms = new Float64Array(steps.length + 1);
    this.found = new Float64Array(steps.length + 1);
    [this.falseAlarms[0], this.found[0]] = events.begin;
    steps.forEach((step, k) => {
      const ofPositive = Math.abs(step) === 1;
      this.found[k + 1] = this.found[k] + (ofPositive ? step : 0);
      this.falseAlarms[k + 1] = this.falseAlarms[k] + (ofPositive ? 0 : step / 2);
    });
  }

  piece(tau) {
    return lowerBound(this.when, tau);
  }
}

/** Cases that are carried one by one. */
class Cases {
  constructor(packed) {
    this.rows = unpack(packed.rows);
    this.positive = unpack(packed.positive);
    this.proba = unpack(packed.proba);
    this.begin = unpack(packed.begin);
    this.starts = unpack(packed.changeStarts);
    this.changes = unpack(packed.changes);
    this.functions = packed.functions && new LowRank(packed.functions);
    this.columns = packed.columns;
  }

  get length() {
    return this.rows.length;
  }

  /** 1 where a case is taken for positive at τ, else 0. */
  decided(i, tau) {
    let decision = this.begin[i];
    for (let k = this.starts[i]; k < this.starts[i + 1] && this.changes[k] < tau; k++) {
      decision = 1 - decision;
    }
    return decision;
  }
}

const [nNegative, nPositive] = data.counts;
const n = nNegative + nPositive;
const counts = new Counts(data.events);

const model = {
  names: data.classes,
  cases: new Cases(data.cases),
  tau: data.tau,
  costFp: 1,
  costFn: 1,
  held: false, // whether costs stay when τ moves
  prevalence: nPositive / n,
  piece: 0,
  best: { tau: 0, cost: 0, piece: 0, from: 0, to: 1 },
  pieces: counts.when.length + 1,
  edge: (k) => (k <= 0 ? 0 : k > counts.when.length ? 1 : counts.when[k - 1]),
  tpr: (k) => counts.found[k] / nPositive,
  tnr: (k) => 1 - counts.falseAlarms[k] / nNegative,
  accuracy: (k) => model.prevalence * model.tpr(k) + (1 - model.prevalence) * model.tnr(k),
  cost: (k) =>
    model.costFp * (1 - model.prevalence) * (1 - model.tnr(k)) +
    model.costFn * model.prevalence * (1 - model.tpr(k)),
  benefit: (k, tau) =>
    model.prevalence * model.tpr(k) - (tau / (1 - tau)) * (1 - model.prevalence) * (1 - model.tnr(k)),
  precision: (k) => {
    const right = model.prevalence * model.tpr(k);
    return right / (right + (1 - model.prevalence) * (1 - model.tnr(k)));
  },
  setTau,
};

const [negative, positive] = model.names;
const shifted = () => Math.abs(model.prevalence * n - nPositive) > 1e-9 * n;

/** The τ these costs ask for, where shares of the classes are other than in the data. */
function askedTau() {
  const alarm = (model.costFp * (1 - model.prevalence)) / nNegative;
  const miss = (model.costFn * model.prevalence) / nPositive;
  return alarm / (alarm + miss);
}

/** The stretch of τ that costs least; of several, the closest to the τ the costs ask for. */
function findBest() {
  const asked = askedTau();
  let least = Infinity;
  for (let k = 0; k < model.pieces; k++) {
    if (wideEnough(k)) least = Math.min(least, model.cost(k));
  }
  const close = least + 1e-12 * (model.costFp + model.costFn);
  let best = null;
  for (let k = 0; k < model.pieces; k++) {
    if (!(model.cost(k) <= close) || !wideEnough(k)) continue;
    let last = k;
    while (last + 1 < model.pieces && model.cost(last + 1) <= close) last += 1;
    const [from, to] = [model.edge(k), model.edge(last + 1)];
    const away = asked < from ? from - asked : asked > to ? asked - to : 0;
    if (best === null || away < best.away) {
      const tau = 0.5 * (from + to);
      best = { tau, from, to, away, piece: counts.piece(tau), cost: least };
    }
    k = last;
  }
  return best;
}

const wideEnough = (k) => model.pieces === 1 || model.edge(k + 1) - model.edge(k) > 1e-9;

// -- what the reader may change -----------------------------------------------------------------

function setTau(tau) {
  model.tau = tau;
  if (!model.held) {
    const sum = model.costFp + model.costFn;
    [model.costFp, model.costFn] = [tau * sum, (1 - tau) * sum];
    update("costs");
  } else {
    update("tau");
  }
}

function setCosts(costFp, costFn) {
  if (costFp + costFn <= 0) return "one of the two has to cost something";
  [model.costFp, model.costFn] = [costFp, costFn];
  if (!model.held) model.tau = costFp / (costFp + costFn);
  update("costs");
  return "";
}

function setPrevalence(share) {
  model.prevalence = share;
  update("prevalence");
}

function hold(held) {
  model.held = held;
  holdBox.checked = held;
  if (!held) setCosts(model.costFp, model.costFn);
}

const costFpField = numberField({
  label: "A false alarm costs", id: "cost-fp", min: 0, max: 1e12, hint: `${negative}, taken for ${positive}`,
  take: (value) => setCosts(value, model.costFn),
});
const costFnField = numberField({
  label: "A miss costs", id: "cost-fn", min: 0, max: 1e12, hint: `${positive}, taken for ${negative}`,
  take: (value) => setCosts(model.costFp, value),
});
const prevalenceField = numberField({
  label: `Share of ${positive}`, id: "prevalence", min: 0, max: 100, unit: "%",
  hint: `${percent(nPositive / n)} here; put in yours`,
  take: (value) => {
    setPrevalence(value / 100);
  },
});
const resetPrevalence = button("As in these cases", () => {
  delete prevalenceField.input.dataset.typing;
  setPrevalence(nPositive / n);
}, { id: "reset-prevalence", class: "quiet" });
const holdBox = element("input", { type: "checkbox", id: "hold", onchange: () => hold(holdBox.checked) });
const control = new TauControl({
  label: "τ, how much of the total a false alarm costs",
  low: "misses cost more: raise the alarm early", high: "false alarms cost more: be sure first",
  changes: counts.when, take: setTau, step: "a prediction changes",
});
const useBest = button("Go to the best τ", () => {
  hold(true);
  setTau(model.best.tau);
}, { id: "use-best" });
const askedNote = element("p", { class: "note", id: "asked" });
const useAsked = button("Use it", () => {
  hold(true);
  setTau(askedTau());
}, { id: "use-asked", class: "quiet" });

// -- what is shown ------------------------------------------------------------------------------

const headline = element("p", { class: "headline live", id: "headline" });
const cells = {};
for (const id of ["tn", "fp", "fn", "tp"]) {
  cells[id] = { big: element("span", { class: "big", id }), small: element("span", { class: "small", id: `${id}-share` }) };
}

function matrixCell(id, name, mark) {
  return element("td", { class: mark }, cells[id].big, element("span", { class: "what" }, name), cells[id].small);
}

const matrixCaption = element("caption", {});
const matrix = element(
  "table",
  { class: "matrix", id: "matrix" },
  matrixCaption,
  element("thead", {}, element("tr", {},
    element("td", {}),
    element("th", { scope: "col" }, "taken for ", element("b", {}, negative)),
    element("th", { scope: "col" }, "taken for ", element("b", {}, positive)))),
  element("tbody", {},
    element("tr", {}, element("th", { scope: "row" }, "really ", element("b", {}, negative)), matrixCell("tn", "rightly cleared", "right"), matrixCell("fp", "false alarms", "mistake")),
    element("tr", {}, element("th", { scope: "row" }, "really ", element("b", {}, positive)), matrixCell("fn", "misses", "mistake"), matrixCell("tp", "found", "right"))),
);

const METRICS = [
  ["cost", "Expected cost per case", () => say(model.cost(model.piece))],
  ["accuracy", "Accuracy", () => percent(model.accuracy(model.piece), 2)],
  ["tpr", `Found among ${positive} (TPR)`, () => percent(model.tpr(model.piece), 2)],
  ["tnr", `Cleared among ${negative} (TNR)`, () => percent(model.tnr(model.piece), 2)],
  ["precision", "Alarms that are right (precision)", () => percent(model.precision(model.piece), 2)],
  ["benefit", "Net benefit", () => say(model.benefit(model.piece, model.tau))],
];
const metricCells = {};
const metrics = element("dl", { class: "metrics" }, ...METRICS.map(([id, name]) => {
  metricCells[id] = element("dd", { id: `metric-${id}` });
  return element("div", {}, element("dt", {}, name), metricCells[id]);
}));

function showMatrix() {
  const [alarms, found] = [counts.falseAlarms[model.piece], counts.found[model.piece]];
  const whole = { tn: nNegative - alarms, fp: alarms, fn: nPositive - found, tp: found };
  const moved = shifted();
  matrixCaption.textContent = moved
    ? `Of 1000 cases with ${percent(model.prevalence)} ${positive}`
    : `Of these ${sayCount(n)} cases`;
  for (const [id, count] of Object.entries(whole)) {
    const ofNegative = id === "tn" || id === "fp";
    const rate = count / (ofNegative ? nNegative : nPositive);
    const expected = 1000 * rate * (ofNegative ? 1 - model.prevalence : model.prevalence);
    cells[id].big.textContent = moved ? sayFixed(expected, 1) : sayCount(count);
    cells[id].small.textContent = moved
      ? `${sayCount(count)} of ${sayCount(ofNegative ? nNegative : nPositive)} here`
      : `${percent(rate)} of ${ofNegative ? negative : positive}`;
  }
}

function summary() {
  const alarms = counts.falseAlarms[model.piece];
  const misses = nPositive - counts.found[model.piece];
  const { best } = model;
  const cost = model.cost(model.piece);
  const first = shifted()
    ? `Of 1000 cases with ${percent(model.prevalence)} ${positive}, expect ${sayFixed(1000 * (1 - model.prevalence) * (alarms / nNegative), 1)} false alarms and ${sayFixed(1000 * model.prevalence * (misses / nPositive), 1)} misses`
    : `Of ${sayCount(n)} cases, ${counted(alarms, "false alarm", "false alarms")} and ${counted(misses, "miss", "misses")}`;
  const isBest = cost <= best.cost + 1e-12 * (model.costFp + model.costFn);
  const last = isBest
    ? "no other τ costs less on these cases"
    : `the best τ for these costs on these cases is ${say(best.tau, 2)}, with ${say(best.cost)}`;
  return [first, `expected cost ${say(cost)} per case`, last];
}

function showHeadline() {
  const [first, cost, last] = summary();
  headline.replaceChildren(element("b", {}, first), `; ${cost}; ${last}.`);
  announce(`τ ${say(model.tau)}. ${first}; ${cost}; ${last}.`);
  return `${say(model.tau)}: ${first}; ${cost}`;
}

function showNotes() {
  const [fp, fn] = [model.costFp, model.costFn];
  const ratio = fp === fn ? "A miss costs as much as a false alarm."
    : fn > fp ? `A miss costs ${fp > 0 ? say(fn / fp) : "infinitely many"} times as much as a false alarm.`
      : `A false alarm costs ${fn > 0 ? say(fp / fn) : "infinitely many"} times as much as a miss.`;
  const asked = askedTau();
  const other = Math.abs(asked - model.tau) > 5e-4;
  useAsked.hidden = !other;
  const why = shifted() ? `With ${percent(model.prevalence)} ${positive} instead of ${percent(nPositive / n)}, these costs ask for τ = ${say(asked)}. ` : `These costs ask for τ = ${say(asked)}. `;
  const threshold = `The alarm is raised where ${positive} has a probability of ${data.rule === "sign" ? "about " : ""}${percent(model.tau)} or more.`;
  askedNote.replaceChildren(`${ratio} ${threshold} `, other ? why : "", useAsked);
  resetPrevalence.hidden = !shifted();
  useBest.disabled = model.tau >= model.best.from && model.tau <= model.best.to;
}

// -- mistakes -----------------------------------------------------------------------------------

const HEADS = [
  ["row", true], ["mistake", false], [`P(${positive})`, true],
  ...(model.cases.functions ? [["f at this τ", true]] : []),
  ...data.cases.columns.map((column) => [column.name, column.numeric]),
];
const mistakeTable = table("Worst mistakes at this τ", HEADS, [], "mistakes-table");
const mistakeNote = element("p", { class: "note", id: "mistakes-note" });
let shownKind = "all";
let shownMost = 12;
const more = button("Show more", () => {
  shownMost += 48;
  showMistakes();
}, { class: "quiet", id: "more" });

function showMistakes() {
  const { cases, tau } = model;
  const wrong = [];
  for (let i = 0; i < cases.length; i++) {
    const decided = cases.decided(i, tau);
    if (decided === cases.positive[i]) continue;
    if (shownKind === "all" || (shownKind === "alarms") === (decided === 1)) wrong.push(i);
  }
  // how far its probability is on the wrong side of τ; below 0 where only f is
  const depth = (i) => (cases.positive[i] ? tau - cases.proba[i] : cases.proba[i] - tau);
  wrong.sort((i, j) => depth(j) - depth(i) || i - j);
  const rows = wrong.slice(0, shownMost).map((i) => [
    String(cases.rows[i] + 1),
    element("span", { class: `tag ${cases.positive[i] ? "miss" : "alarm"}` }, cases.positive[i] ? "miss" : "false alarm"),
    percent(cases.proba[i]),
    ...(cases.functions ? [sayFixed(cases.functions.value(i, tau), 2)] : []),
    ...cases.columns.map((column) => column.texts[i]),
  ]);
  mistakeTable.querySelector("tbody").replaceChildren(...rows.map((row) => tableRow(row, HEADS)));
  more.hidden = wrong.length <= shownMost;
  const some = cases.length < n
    ? ` Of ${sayCount(n)} cases, the ${sayCount(cases.length)} that the model is most wrong about are here; all are in the numbers above.` : "";
  const bound = cases.functions ? ` f is at most ${say(100 * cases.functions.error, 2)} % of its range off; which cases are mistaken is exact.` : "";
  mistakeNote.textContent = wrong.length
    ? `${sayCount(Math.min(wrong.length, shownMost))} of ${sayCount(wrong.length)}, those whose probability is furthest on the wrong side of τ first. Row 1 is the first case.${bound}${some}`
    : `None at this τ.${some}`;
}

// -- the page -----------------------------------------------------------------------------------

const costs = costChart(model);
const charts = [
  ratesChart(model),
  rocChart(model),
  benefitChart(model),
  reliabilityChart(data.reliability, positive),
  data.boundary ? boundaryChart(model, data.boundary) : null,
  data.coefficients ? coefficientChart(data.coefficients, () => model.tau, setTau) : null,
].filter((chart) => chart !== null);

let pending = 0;
const changed = new Set();

/** Show the present state, after τ alone has changed, or "costs", or "prevalence" as well. */
function update(what) {
  changed.add(what);
  model.piece = counts.piece(model.tau);
  if (what !== "tau") model.best = findBest();
  const text = showHeadline();
  control.show(model.tau, text, model.best.tau);
  costFpField.show(model.costFp, 5);
  costFnField.show(model.costFn, 5);
  prevalenceField.show(100 * model.prevalence, 4);
  showMatrix();
  for (const [id, , value] of METRICS) metricCells[id].textContent = value();
  showNotes();
  // the rest once per frame, however fast the slider moves
  if (!pending) pending = requestAnimationFrame(drawAll);
}

function drawAll() {
  pending = 0;
  for (const chart of [costs, ...charts]) {
    if (chart.options.uses?.some((what) => changed.has(what))) chart.draw();
    else chart.move();
  }
  changed.clear();
  showMistakes();
}

const rule = data.rule === "sign"
  ? "A case is taken for positive where the decision function of this τ is at least 0."
  : "A case is taken for positive where its probability is at least τ.";

startPage([
  headline,
  element("div", { class: "first" },
    element("section", { class: "card controls", "aria-labelledby": "controls-title" },
      element("h2", { id: "controls-title" }, "What do mistakes cost you?"),
      element("div", { class: "fields" }, costFpField.node, costFnField.node,
        element("div", { class: "with-reset" }, prevalenceField.node, resetPrevalence)),
      control.node,
      element("div", { class: "actions" },
        useBest,
        element("label", { class: "check", for: "hold" }, holdBox, "Keep the costs when I move τ")),
      askedNote),
    element("section", { class: "card outcome", "aria-labelledby": "outcome-title" },
      element("h2", { id: "outcome-title" }, "What happens then"),
      matrix, metrics),
    costs.node),
  section("charts", "At every τ", chartGrid(charts)),
  section("mistakes", "Worst mistakes at this τ",
    element("div", { class: "card" },
      choice("Show", [["all", "all mistakes"], ["alarms", "false alarms"], ["misses", "misses"]], (kind) => {
        shownKind = kind;
        showMistakes();
      }, { id: "kind" }),
      mistakeTable, more, mistakeNote)),
  originSection(),
  glossary([
    ["τ", "Cost of a false alarm, divided by the sum of both costs. The model has a support vector machine for every τ; moving the slider moves between all of them. " + rule],
    ["False alarm, miss", `A ${negative} case taken for ${positive}; a ${positive} case taken for ${negative}.`],
    ["Expected cost", "What mistakes cost per case, on average over cases like these, in the unit of the two costs."],
    ["Best τ", `The τ with the least expected cost on these ${sayCount(n)} cases. It was chosen with hindsight: on new cases the τ of the costs themselves may be as good.`],
    [`Share of ${positive}`, "Costs, accuracy, precision and net benefit are those of cases among which the classes have these shares. Rates within a class, and the reliability diagram, do not change."],
    ["Net benefit", "Right alarms less false ones, the latter weighted by τ / (1 − τ), per case."],
    ["Probability", "The part of [0, 1] of all τ at which a case is taken for positive."],
  ]),
]);

{
  const tau = data.tau;
  const sum = tau === 0.5 ? 2 : 1;
  [model.costFp, model.costFn] = [tau * sum, (1 - tau) * sum];
}
update("costs");
