// The page of two classes: from costs to decisions, and what they come to.

const usual = { tau: data.tau, prevalence: nPositive / n };
/** How many times as likely either class is elsewhere than among these cases. */
const shift = () => (((1 - state.prevalence) / state.prevalence) * nPositive) / nNegative;
const odds = (tau, factor) => (tau * factor) / (tau * factor + 1 - tau);

const state = {
  tau: usual.tau, // cost of a false alarm, divided by the sum of both costs
  decides: usual.tau, // the τ that decides: the same, unless decisions are adapted to another share
  costFp: 1,
  costFn: 1,
  prevalence: usual.prevalence,
  adapt: false,
  range: null, // what a miss may be worth: {low, high}
  case: null, // place in `cases`
  kind: "all",
  list: "change",
  allColumns: false,
  /** The τ that decides where costs have this τ, and the other way round. */
  decidesAt: (tau) => (state.adapt ? odds(tau, shift()) : tau),
  costsOf: (tau) => (state.adapt ? odds(tau, 1 / shift()) : tau),
  setTau,
};

const shifted = () => Math.abs(state.prevalence * n - nPositive) > 1e-9 * n;

// -- what the reader may change -----------------------------------------------------------------

/** Set τ: the smaller of the two costs stays. */
function setTau(tau) {
  const unit = Math.min(state.costFp, state.costFn) || Math.max(state.costFp, state.costFn) || 1;
  state.tau = tau;
  if (tau <= 0 || tau >= 1) [state.costFp, state.costFn] = tau <= 0 ? [0, unit] : [unit, 0];
  else if (tau <= 0.5) [state.costFp, state.costFn] = [unit, neat((unit * (1 - tau)) / tau)];
  else [state.costFp, state.costFn] = [neat((unit * tau) / (1 - tau)), unit];
  update("costs");
}

/** A cost without the last digits of its rounding. */
const neat = (cost) => Number(cost.toPrecision(14));

function setCosts(costFp, costFn) {
  if (costFp + costFn <= 0) return "one of the two has to cost something";
  [state.costFp, state.costFn, state.tau] = [costFp, costFn, tauOf(costFp, costFn)];
  update("costs");
  return "";
}

function setPrevalence(share, adapt = state.adapt) {
  [state.prevalence, state.adapt] = [share, adapt];
  update("prevalence");
}

const costFpField = numberField({
  label: "A false alarm costs", id: "cost-fp", min: 0, max: 1e12, hint: `${negative}, taken for ${positive}`,
  take: (value) => setCosts(value, state.costFn),
});
const costFnField = numberField({
  label: "A miss costs", id: "cost-fn", min: 0, max: 1e12, hint: `${positive}, taken for ${negative}`,
  take: (value) => setCosts(state.costFp, value),
});
const prevalenceField = numberField({
  label: `Share of ${positive}`, id: "prevalence", min: 0.0001, max: 99.9999, unit: "%",
  hint: `${percent(nPositive / n)} here; where will you use it?`,
  take: (value) => setPrevalence(value / 100),
});
const resetPrevalence = button("As in these cases", () => {
  delete prevalenceField.input.dataset.typing;
  setPrevalence(usual.prevalence, false);
}, { id: "reset-prevalence", class: "quiet" });
const adaptBox = element("input", { type: "checkbox", id: "adapt", onchange: () => setPrevalence(state.prevalence, adaptBox.checked) });
const adaptLabel = element("label", { class: "check", for: "adapt" }, adaptBox, "Adapt decisions to this share");
const control = new TauControl({
  label: "Cost of a false alarm : cost of a miss",
  low: "misses cost more: raise the alarm early", high: "false alarms cost more: be sure first",
  changes: counts.when, take: (tau) => setTau(tau), step: "a decision changes", scale: SCALE,
});
const costNote = element("p", { class: "note", id: "cost-note" });

function showCostNote() {
  const [fp, fn] = [state.costFp, state.costFn];
  const ratio = fp === fn ? "A miss costs as much as a false alarm."
    : fn > fp ? (fp > 0 ? `A miss costs ${say(fn / fp)} times as much as a false alarm.` : "False alarms cost nothing.")
      : fn > 0 ? `A false alarm costs ${say(fp / fn)} times as much as a miss.` : "Misses cost nothing.";
  const threshold = ` The alarm is raised where the probability of ${positive} is ${data.rule === "sign" ? "about " : ""}${percent(state.decides)} or more.`;
  const adapted = state.adapt && shifted() ? ` That is τ = ${say(state.decides)}, since ${positive} is ${shift() > 1 ? "rarer" : "more common"} than among these cases.` : "";
  const coarse = data.nodes ? ` Counts are given at ${sayCount(data.nodes)} cost ratios, all with two digits; in between, the nearest is shown.` : "";
  costNote.textContent = ratio + threshold + adapted + coarse;
  resetPrevalence.hidden = adaptLabel.hidden = !shifted();
  adaptBox.checked = state.adapt;
}

// -- what happens then --------------------------------------------------------------------------

const headline = element("p", { class: "headline live", id: "headline" });
const constantNote = element("p", { class: "warning", id: "constant" });
const worseNote = element("p", { class: "warning", id: "worse" });
const now = (own = counts) => own.piece(state.decides);
const costOf = (own, k = now(own)) => meanCost(state, own.falseAlarms[k], own.found[k]);
const perThousand = () => (shifted() ? 1000 : n);
const sayTotal = (cost) => (cost >= 1000 ? sayCount(cost) : say(cost, 4));
const sayBand = ([low, high]) => `${say(low, 2)} to ${say(high, 2)}`;

function showHeadline() {
  const k = now();
  const [alarms, found] = [counts.falseAlarms[k], counts.found[k]];
  const misses = nPositive - found;
  const cost = costOf(counts);
  const blind = withoutLooking(state);
  const first = shifted()
    ? `Of 1000 cases with ${percent(state.prevalence)} ${positive}, expect ${sayFixed(1000 * (1 - state.prevalence) * (alarms / nNegative), 1)} false alarms and ${sayFixed(1000 * state.prevalence * (misses / nPositive), 1)} misses`
    : `Of ${sayCount(n)} cases, ${counted(alarms, "false alarm", "false alarms")} and ${counted(misses, "miss", "misses")}`;
  const rest = `; ${sayCount(found)} of ${sayCount(nPositive)} ${positive} found. This costs ${say(cost)} per case (95 %: ${sayBand(costBand(state, alarms, found))}), ${sayTotal(cost * perThousand())} in total; deciding without looking would cost ${say(blind.cost)} per case.`;
  headline.replaceChildren(seenMark(), element("b", {}, first), rest);
  const all = alarms + found;
  constantNote.hidden = all > 0 && all < n;
  constantNote.replaceChildren(
    element("b", {}, `At these costs the model gives every case the same answer: ${className(all > 0)}.`),
    " That is deciding without looking.");
  worseNote.hidden = !constantNote.hidden || !(cost > blind.cost);
  worseNote.replaceChildren(
    element("b", {}, "At these costs the model does worse than deciding without looking:"),
    ` calling every case ${className(blind.alarm)} would cost less.`);
  announce(`${sayRatio(state.tau)}. ${data.seen ? "In-sample. " : ""}${first}${rest}`);
  return `${sayRatio(state.tau)}, τ ${say(state.tau)}: ${first}`;
}

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
    element("td", {}, data.target ? element("span", { class: "target" }, data.target) : ""),
    element("th", { scope: "col" }, "taken for ", element("b", {}, negative)),
    element("th", { scope: "col" }, "taken for ", element("b", {}, positive)))),
  element("tbody", {},
    element("tr", {}, element("th", { scope: "row" }, "really ", element("b", {}, negative)), matrixCell("tn", "rightly cleared", "right"), matrixCell("fp", "false alarms", "mistake")),
    element("tr", {}, element("th", { scope: "row" }, "really ", element("b", {}, positive)), matrixCell("fn", "misses", "mistake"), matrixCell("tp", "found", "right"))),
);

function showMatrix() {
  const k = now();
  const [alarms, found] = [counts.falseAlarms[k], counts.found[k]];
  const whole = { tn: nNegative - alarms, fp: alarms, fn: nPositive - found, tp: found };
  const moved = shifted();
  matrixCaption.textContent = moved ? `Of 1000 cases with ${percent(state.prevalence)} ${positive}` : `Of these ${sayCount(n)} cases, with 95 % intervals`;
  for (const [id, count] of Object.entries(whole)) {
    const ofNegative = id === "tn" || id === "fp";
    const total = ofNegative ? nNegative : nPositive;
    const [low, high] = wilson(count, total);
    const expected = 1000 * (count / total) * (ofNegative ? 1 - state.prevalence : state.prevalence);
    cells[id].big.textContent = moved ? sayFixed(expected, 1) : sayCount(count);
    cells[id].small.textContent = moved
      ? `${sayCount(count)} of ${sayCount(total)} here`
      : `${percent(count / total)} (${sayFixed(100 * low, 0)}–${percent(high, 0)})`;
  }
}

const rate = (own, name) => own[name](now(own));
const METRICS = [
  ["cost", "Cost per case", () => say(costOf(counts))],
  ["accuracy", "Accuracy", () => percent(state.prevalence * rate(counts, "tpr") + (1 - state.prevalence) * rate(counts, "tnr"), 2)],
  ["tpr", `Found among ${positive} (TPR)`, () => percent(rate(counts, "tpr"), 2)],
  ["tnr", `Cleared among ${negative} (TNR)`, () => percent(rate(counts, "tnr"), 2)],
  ["precision", "Alarms that are right (precision)", () => {
    const right = state.prevalence * rate(counts, "tpr");
    return percent(right / (right + (1 - state.prevalence) * (1 - rate(counts, "tnr"))), 2);
  }],
  ["benefit", "Net benefit", () => say(netBenefit(state, counts, now(), state.tau))],
];
const metricCells = {};
const metrics = element("dl", { class: "metrics" }, ...METRICS.map(([id, name]) => {
  metricCells[id] = element("dd", { id: `metric-${id}` });
  return element("div", {}, element("dt", {}, name), metricCells[id]);
}));

// -- beside others ------------------------------------------------------------------------------

const scores = element("tbody", {});
const versus = element("div", { class: "versus", id: "versus" });
const hindsight = element("p", { class: "note", id: "hindsight" });
const scoreTable = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "At your costs, beside other ways to decide" },
  element("table", { class: "scores", id: "scores" },
    element("caption", { class: "hidden" }, "At your costs, beside other ways to decide"),
    element("thead", {}, element("tr", {}, element("td", {}), element("th", { scope: "col" }, "this model"),
      ...others.map((other) => element("th", { scope: "col" }, other.name)), element("th", { scope: "col" }, "without looking"))),
    scores));

function showScores() {
  const blind = withoutLooking(state);
  const ways = [counts, ...others.map((other) => other.counts)].map((own) => {
    const k = now(own);
    return { alarms: own.falseAlarms[k], found: own.found[k] };
  });
  const seen = ways.length;
  ways.push({ alarms: blind.alarm ? nNegative : 0, found: blind.alarm ? nPositive : 0 });
  const many = perThousand();
  const scaled = (count, total, share) => (shifted() ? sayFixed((1000 * share * count) / total, 1) : sayCount(count));
  const cost = ({ alarms, found }) => meanCost(state, alarms, found);
  const rows = [
    [`${positive} found`, ({ found }) => scaled(found, nPositive, state.prevalence)],
    ["misses", ({ found }) => scaled(nPositive - found, nPositive, state.prevalence)],
    ["false alarms", ({ alarms }) => scaled(alarms, nNegative, 1 - state.prevalence)],
    ["cost per case", (way) => say(cost(way))],
    ["95 % band", (way, k) => (k < seen ? sayBand(costBand(state, way.alarms, way.found)) : "")],
    [shifted() ? "cost per 1000" : "cost in total", (way) => sayTotal(many * cost(way))],
  ];
  scores.replaceChildren(...rows.map(([name, value]) => element("tr", {},
    element("th", { scope: "row" }, name), ...ways.map((way, k) => element("td", { class: "number" }, value(way, k))))));
  versus.replaceChildren(...others.map((other) => element("p", {}, sayVersus(other))));
  hindsight.textContent = sayHindsight();
}

function sayVersus(other) {
  const [k, j, b] = [now(), now(other.counts), now(other.both)];
  const apart = (name) => counts[name][k] + other.counts[name][j] - 2 * other.both[name][b];
  const [alarms, found] = [apart("falseAlarms"), apart("found")];
  if (alarms + found === 0) return `Cut at τ, ${other.name} decides every case as this model does.`;
  const difference = costOf(other.counts) - costOf(counts);
  const [low, high] = differenceBand(state, difference, alarms, found);
  const size = difference === 0 ? "costs as much as this model" : `costs ${say(Math.abs(difference), 2)} ${difference > 0 ? "more" : "less"} per case than this model`;
  const sure = low <= 0 && high >= 0 ? "which may be chance" : "more than chance explains";
  return `Cut at τ, ${other.name} ${size} (95 %: ${sayBand([low, high])}), ${sure}. They decide ${counted(alarms + found, "case", "cases")} differently.`;
}

/** The piece that would have cost least on these cases. */
function findBest() {
  let best = null;
  for (let k = 0; k < counts.pieces; k++) {
    if (counts.pieces > 1 && !(counts.edge(k + 1) - counts.edge(k) > 1e-9)) continue;
    const cost = costOf(counts, k);
    if (best === null || cost < best.cost) best = { k, cost };
  }
  return best;
}

function sayHindsight() {
  const best = findBest();
  const k = now();
  const gain = costOf(counts) - best.cost;
  if (!(gain > 1e-12 * (state.costFp + state.costFn))) return "Looking back, no other τ would have cost less on these cases.";
  const tau = 0.5 * (counts.edge(best.k) + counts.edge(best.k + 1));
  const band = differenceBand(state, gain,
    Math.abs(counts.falseAlarms[best.k] - counts.falseAlarms[k]), Math.abs(counts.found[best.k] - counts.found[k]));
  return `Looking back, deciding these cases at τ = ${say(tau, 2)} would have cost ${say(best.cost)} per case, ${say(gain, 2)} less (95 %: ${sayBand(band)}). That τ was picked because it did best on these very cases; on new cases expect less. Your own costs are the better guide.`;
}

// -- taking it along ----------------------------------------------------------------------------

const commandLine = copyLine("Command", "command");
const pythonLine = copyLine("Python", "python");

function showCommands() {
  const { shell, python } = data.files ?? { shell: ["model.tau", "data.csv"], python: null };
  const adapted = state.decides !== state.tau;
  const [fp, fn] = [state.costFp, state.costFn].map((cost) => String(Number(cost.toPrecision(12))));
  const options = adapted ? `--tau ${state.decides}` : `--cost-fp ${fp} --cost-fn ${fn}`;
  const words = adapted ? `tau=${state.decides}` : `cost_fp=${fp}, cost_fn=${fn}`;
  commandLine.show(`taupath predict ${shell[0]} ${shell[1]} ${options} -o decisions.csv`);
  pythonLine.show(python ? `tp.load(${python[0]}).predict(${python[1]}, ${words})` : `model.predict(X, ${words})`);
}

// -- the page -----------------------------------------------------------------------------------

const view = cases && new CaseView(state, { changed: () => address.changed() });
const single = cases
  ? new CaseSections(state, { open: (i) => view.open(i), changed: () => address.changed() })
  : new RangeSection(state, () => address.changed());
const costCurves = costChart(state);
const charts = [
  ratesChart(state),
  rocChart(state),
  benefitChart(state),
  reliabilityChart(data.reliability, positive),
  data.boundary ? boundaryChart(state, data.boundary) : null,
  data.coefficients ? coefficientChart(data.coefficients, () => state.decides, (tau) => setTau(state.costsOf(tau)), { along: SCALE, x: RATIO_AXIS }) : null,
].filter((chart) => chart !== null);

const weights = data.coefficients && weightsCard(data.coefficients, () => state.decides);
let address = null;
let pending = 0;
const changed = new Set();

/** Show the present state, after "costs" or "prevalence" have changed. */
function update(what) {
  changed.add(what);
  state.decides = state.decidesAt(state.tau);
  control.show(state.tau, showHeadline());
  costFpField.show(state.costFp);
  costFnField.show(state.costFn);
  prevalenceField.show(100 * state.prevalence, 4);
  showMatrix();
  for (const [id, , value] of METRICS) metricCells[id].textContent = value();
  showCostNote();
  showScores();
  showCommands();
  address?.changed();
  // the rest once per frame, however fast the slider moves
  if (!pending) pending = requestAnimationFrame(drawAll);
}

function drawAll() {
  pending = 0;
  for (const chart of [costCurves, ...charts]) {
    if (chart.options.uses?.some((what) => changed.has(what))) chart.draw();
    else chart.move();
  }
  changed.clear();
  single.show();
  view?.show();
  weights?.show();
}

const rule = data.rule === "sign"
  ? "A case is taken for positive where the decision function of this τ is at least 0."
  : "A case is taken for positive where its probability is at least τ.";
const listed = cases && cases.length < n ? ` Of the ${sayCount(cases.length)} cases in this file; the command decides all.` : "";

startPage([
  headline,
  seenNote(),
  aboutNote(),
  constantNote,
  worseNote,
  element("div", { class: "first" },
    element("section", { class: "card controls", "aria-labelledby": "controls-title" },
      element("h2", { id: "controls-title" }, "What do mistakes cost you?"),
      element("div", { class: "fields" }, costFpField.node, costFnField.node,
        element("div", { class: "with-reset" }, prevalenceField.node, resetPrevalence, adaptLabel)),
      control.node, costNote),
    element("section", { class: "card outcome", "aria-labelledby": "outcome-title" },
      element("h2", { id: "outcome-title" }, "What happens then"),
      matrix, metrics),
    costCurves.node,
    element("section", { class: "card beside", "aria-labelledby": "beside-title" },
      element("h2", { id: "beside-title" }, "At your costs, beside other ways to decide"),
      scoreTable, versus, hindsight)),
  ...single.nodes(),
  view?.node ?? null,
  section("charts", "At every ratio of costs", chartGrid(charts)),
  weights && section("weights", "Weights at your costs", weights.node),
  section("export", "Take it with you", element("div", { class: "card" },
    cases ? element("div", { class: "actions first-actions" },
      downloadButton("Save decisions.csv", "decisions.csv", () => single.decisionsFile(), { id: "save-decisions" }),
      element("span", { class: "note" }, `Every case with its decision at your costs.${listed}`)) : null,
    commandLine.node, pythonLine.node)),
  originSection(),
  glossary([
    ["τ", "Cost of a false alarm, divided by the sum of both costs. The model has a support vector machine for every τ; moving the slider moves between all of them. " + rule],
    ["False alarm, miss", `A ${negative} case taken for ${positive}; a ${positive} case taken for ${negative}.`],
    ["Cost", "What mistakes cost, per case or in total, in the unit of the two costs."],
    ["95 % band", "How far the cost may be off because there are only so many cases: Wilson's intervals of both rates of mistakes, combined. It says nothing about cases of another kind."],
    ["Without looking", `Calling every case ${positive}, or none: whichever costs less.`],
    ...(others.length ? [[others.map((other) => other.name).join(", "), `Taken for ${positive} where its probability is at least τ. Brier score: ${others.map((other) => say(other.brier)).join(", ")}; of this model ${say(data.reliability.brier)}.`]] : []),
    [`Share of ${positive}`, "Costs, accuracy, precision and net benefit are those of cases among which the classes have these shares. Rates within a class, and the reliability diagram, do not change."],
    ["Net benefit", "Right alarms less false ones, the latter weighted by τ / (1 − τ), per case."],
    ["Probability", "The part of [0, 1] of all τ at which a case is taken for positive."],
  ]),
]);

address = keepInAddress({
  save: () => ({
    fp: state.costFp, fn: state.costFn,
    share: shifted() ? state.prevalence : null,
    adapt: state.adapt ? 1 : null,
    range: state.range ? `${state.range.low},${state.range.high}` : null,
    case: state.case === null ? null : cases.rows[state.case] + 1,
    show: state.kind === "all" ? null : state.kind,
    list: state.list === "change" ? null : state.list,
    columns: state.allColumns ? "all" : null,
  }),
  restore: (given) => {
    const [fp, fn] = [given.number("fp", 0, 1e12), given.number("fn", 0, 1e12)];
    const told = fp !== null && fn !== null && fp + fn > 0;
    const range = given.numbers("range", 2, 0, 1e9);
    const row = cases ? cases.rows.indexOf((given.integer("case", 1, n) ?? 0) - 1) : -1;
    Object.assign(state, {
      prevalence: given.number("share", 1e-6, 1 - 1e-6) ?? usual.prevalence,
      adapt: given.choice("adapt", ["1"]) !== null,
      range: range && { low: range[0], high: range[1] },
      case: row >= 0 ? row : null,
      kind: given.choice("show", ["alarms", "misses"]) ?? "all",
      list: given.choice("list", ["always", "never"]) ?? "change",
      allColumns: given.choice("columns", ["all"]) !== null,
      costFp: 1,
      costFn: 1,
    });
    changed.add("prevalence");
    if (told) setCosts(fp, fn);
    else setTau(usual.tau);
  },
});
