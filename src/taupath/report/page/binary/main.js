// The page of two classes: from costs to decisions, and what they come to.

const usual = { tau: data.tau, prevalence: nPositive / n };

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
let settingsChanged = () => {};

const shifted = () => Math.abs(state.prevalence * n - nPositive) > 1e-9 * n;
/** How many times as large the odds of the negative class are as among these cases. */
const shift = () => (((1 - state.prevalence) / state.prevalence) * nPositive) / nNegative;
/** τ with its odds τ : (1 - τ) multiplied by a factor. */
const odds = (tau, factor) => (tau * factor) / (tau * factor + 1 - tau);

// -- what the reader may change -----------------------------------------------------------------

/** Set τ: the smaller of the two costs stays. */
function setTau(tau) {
  const unitCost = Math.min(state.costFp, state.costFn) || Math.max(state.costFp, state.costFn) || 1;
  const scaled = (ratio) => neat(unitCost * ratio, 14); // so that τ of these costs is the same to 14 digits
  state.tau = tau;
  if (tau <= 0 || tau >= 1) [state.costFp, state.costFn] = tau <= 0 ? [0, unitCost] : [unitCost, 0];
  else if (tau <= 0.5) [state.costFp, state.costFn] = [unitCost, scaled((1 - tau) / tau)];
  else [state.costFp, state.costFn] = [scaled(tau / (1 - tau)), unitCost];
  update("costs");
}

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
  label: "A false alarm costs", id: "cost-fp", min: 0, max: LARGEST_COST, hint: `${negative}, taken for ${positive}`,
  take: (value) => setCosts(value, state.costFn),
});
const costFnField = numberField({
  label: "A miss costs", id: "cost-fn", min: 0, max: LARGEST_COST, hint: `${positive}, taken for ${negative}`,
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
  changes: counts.when, take: setTau, step: "a decision changes", scale: SCALE,
});
const costNote = element("p", { class: "note", id: "cost-note" });
const constantWhere = data.constant && element("p", { class: "note", id: "constant-where" });

function sayCostRatio() {
  const { costFp, costFn } = state;
  if (costFp === costFn) return "A miss costs as much as a false alarm.";
  if (costFp === 0) return "False alarms cost nothing.";
  if (costFn === 0) return "Misses cost nothing.";
  return costFn > costFp
    ? `A miss costs ${say(costFn / costFp)} times as much as a false alarm.`
    : `A false alarm costs ${say(costFp / costFn)} times as much as a miss.`;
}

function showCostNote() {
  const threshold = ` The alarm is raised where the ${data.withCosts ? "share of the expected cost that is due to missing" : "probability of"} ${positive} is ${data.rule === "sign" ? "about " : ""}${percent(state.decides)} or more.`;
  const adapted = state.adapt && shifted() ? ` That is τ = ${say(state.decides)}, since ${positive} is ${shift() > 1 ? "rarer" : "more common"} than among these cases.` : "";
  const coarse = data.nodes ? ` Counts are given at ${sayCount(data.nodes)} cost ratios, all with two digits; in between, the nearest is shown.` : "";
  costNote.textContent = sayCostRatio() + threshold + adapted + coarse;
  if (constantWhere) constantWhere.textContent = sayConstant();
  resetPrevalence.hidden = adaptLabel.hidden = !shifted();
  adaptBox.checked = state.adapt;
}

// -- what happens then --------------------------------------------------------------------------

const headline = makeHeadline({ class: "headline live" });
const constantNote = element("p", { class: "warning", id: "constant" });
const worseNote = element("p", { class: "warning", id: "worse" });

/** Whether the model decides the same for all cases at τ, because telling held-out ones apart did not pay. */
const untold = (tau) => data.constant !== null && (tau < data.constant.below || tau > data.constant.above);

/** The costs at which it does, in words. */
function sayConstant() {
  const { below, above, why } = data.constant;
  const ends = [
    below > 0 && `${positive} for every case where misses cost more than at ${sayRatio(state.costsOf(below))}`,
    above < 1 && `${negative} for every case where false alarms cost more than at ${sayRatio(state.costsOf(above))}`,
  ].filter(Boolean);
  return `The model decides ${ends.join(", and ")} (false alarm to miss)${why}.`;
}

/** False alarms and cases found by one way to decide, at the present costs. */
function atCosts(own) {
  const k = own.piece(state.decides);
  return { alarms: own.falseAlarms[k], found: own.found[k] };
}

const costOf = ({ alarms, found }) => meanCost(state, alarms, found);
/** The number of cases that totals are given for. */
const nTotal = () => (shifted() ? 1000 : n);
/** How many of 1000 cases with the present share of the positive class, where `count` of a class are here. */
const perThousand = (count, isPositive) =>
  (isPositive ? 1000 * state.prevalence * count / nPositive : 1000 * (1 - state.prevalence) * count / nNegative);
const sayThousand = () => `1000 cases with ${percent(state.prevalence)} ${positive}`;

/** Show the headline and warnings; return what the slider says. */
function showHeadline() {
  const { alarms, found } = atCosts(counts);
  const misses = nPositive - found;
  const cost = costOf({ alarms, found });
  const blind = withoutLooking(state);
  const first = shifted()
    ? `Of ${sayThousand()}, expect ${sayFixed(perThousand(alarms, false), 1)} false alarms and ${sayFixed(perThousand(misses, true), 1)} misses`
    : `Of ${sayCount(n)} cases, ${counted(alarms, "false alarm", "false alarms")} and ${counted(misses, "miss", "misses")}`;
  const rest = `; ${sayCount(found)} of ${sayCount(nPositive)} ${positive} found. This costs ${say(cost)} per case (95 %: ${sayBand(costBand(state, alarms, found))}), ${sayTotal(cost * nTotal())} in total; deciding without looking would cost ${say(blind.cost)} per case.`;
  headline.show(first, rest, `${sayRatio(state.tau)}. `);
  const raised = alarms + found;
  constantNote.hidden = raised > 0 && raised < n;
  constantNote.replaceChildren(
    ...(untold(state.decides)
      ? [element("b", {}, `At these costs the model decides ${className(raised > 0)} for every case`), `${data.constant.why}.`]
      : [element("b", {}, `At these costs the model gives every case the same answer: ${className(raised > 0)}.`), " That is deciding without looking."]));
  worseNote.hidden = !constantNote.hidden || !(cost > blind.cost);
  worseNote.replaceChildren(
    element("b", {}, "At these costs the model does worse than deciding without looking:"),
    ` calling every case ${className(blind.alarm)} would cost less.`);
  return `${sayRatio(state.tau)}, τ ${say(state.tau)}: ${first}`;
}

// The confusion matrix: id, name and class of the cell of each true class and decision.
const CELLS = [
  [["tn", "rightly cleared", "right"], ["fp", "false alarms", "mistake"]],
  [["fn", "misses", "mistake"], ["tp", "found", "right"]],
];
const cells = {};
const matrixCaption = element("caption", {});
const matrix = decisionTable({ class: "matrix", id: "matrix" }, matrixCaption, [negative, positive], (i, j) => {
  const [id, name, mark] = CELLS[i][j];
  cells[id] = { big: element("span", { class: "big", id }), small: element("span", { class: "small", id: `${id}-share` }) };
  return element("td", { class: mark }, cells[id].big, element("span", { class: "what" }, name), cells[id].small);
});

function showMatrix() {
  const { alarms, found } = atCosts(counts);
  matrixCaption.textContent = shifted() ? `Of ${sayThousand()}` : `Of these ${sayCount(n)} cases, with 95 % intervals`;
  [[nNegative - alarms, alarms], [nPositive - found, found]].forEach((line, i) => line.forEach((count, j) => {
    const { big, small } = cells[CELLS[i][j][0]];
    const total = data.counts[i];
    const [low, high] = wilson(count, total);
    big.textContent = shifted() ? sayFixed(perThousand(count, i === 1), 1) : sayCount(count);
    small.textContent = shifted()
      ? `${sayCount(count)} of ${sayCount(total)} here`
      : `${percent(count / total)} (${sayFixed(100 * low, 0)}–${percent(high, 0)})`;
  }));
}

const rate = (name) => counts[name](counts.piece(state.decides));
const rightAlarms = () => state.prevalence * rate("tpr");
const metrics = metricList([
  ["cost", "Cost per case", () => say(costOf(atCosts(counts)))],
  ["accuracy", "Accuracy", () => percent(rightAlarms() + (1 - state.prevalence) * rate("tnr"), 2)],
  ["tpr", `Found among ${positive} (TPR)`, () => percent(rate("tpr"), 2)],
  ["tnr", `Cleared among ${negative} (TNR)`, () => percent(rate("tnr"), 2)],
  ["precision", "Alarms that are right (precision)", () =>
    percent(rightAlarms() / (rightAlarms() + (1 - state.prevalence) * (1 - rate("tnr"))), 2)],
  ["benefit", "Net benefit", () => say(netBenefit(state, counts, counts.piece(state.decides), state.tau))],
]);

// -- compared with others -----------------------------------------------------------------------

const COMPARED = "Other ways to decide, at your costs";
const scores = element("tbody", {});
const versus = element("div", { class: "versus", id: "versus" });
const hindsight = element("p", { class: "note", id: "hindsight" });
const scoreTable = scroller(COMPARED,
  element("table", { class: "scores", id: "scores" },
    element("caption", { class: "hidden" }, COMPARED),
    element("thead", {}, element("tr", {}, element("td", {}),
      ...["this model", ...others.map((other) => other.name), "without looking"].map((name) => element("th", { scope: "col" }, name)))),
    scores));

function showScores() {
  const { alarm } = withoutLooking(state);
  const ways = [counts, ...others.map((other) => other.counts)].map(atCosts);
  const blind = { alarms: alarm ? nNegative : 0, found: alarm ? nPositive : 0 };
  const sayCases = (count, isPositive) => (shifted() ? sayFixed(perThousand(count, isPositive), 1) : sayCount(count));
  const rows = [
    [`${positive} found`, ({ found }) => sayCases(found, true)],
    ["misses", ({ found }) => sayCases(nPositive - found, true)],
    ["false alarms", ({ alarms }) => sayCases(alarms, false)],
    ["cost per case", (way) => say(costOf(way))],
    ["95 % band", (way) => (way === blind ? "" : sayBand(costBand(state, way.alarms, way.found)))],
    [shifted() ? "cost per 1000" : "cost in total", (way) => sayTotal(nTotal() * costOf(way))],
  ];
  scores.replaceChildren(...rows.map(([name, value]) => element("tr", {},
    element("th", { scope: "row" }, name), ...[...ways, blind].map((way) => element("td", { class: "number" }, value(way))))));
  versus.replaceChildren(...others.map((other) => element("p", {}, sayVersus(other))));
  hindsight.textContent = sayHindsight();
}

function sayVersus(other) {
  const [own, theirs, both] = [counts, other.counts, other.both].map(atCosts);
  const apart = (name) => own[name] + theirs[name] - 2 * both[name];
  const [alarms, found] = [apart("alarms"), apart("found")];
  if (alarms + found === 0) return `With τ as threshold, ${other.name} decides every case as this model does.`;
  const difference = costOf(theirs) - costOf(own);
  const [low, high] = differenceBand(state, difference, alarms, found);
  const size = difference === 0 ? "costs as much as this model" : `costs ${say(Math.abs(difference), 2)} ${difference > 0 ? "more" : "less"} per case than this model`;
  const sure = low <= 0 && high >= 0 ? "which may be chance" : "more than chance explains";
  return `With τ as threshold, ${other.name} ${size} (95 %: ${sayBand([low, high])}), ${sure}. They decide ${counted(alarms + found, "case", "cases")} differently.`;
}

/** The τ that would have cost least on these cases, in the middle of its piece, and the counts there. */
function findBest() {
  let best = null;
  for (let k = 0; k < counts.pieces; k++) {
    const [from, to] = [counts.edge(k), counts.edge(k + 1)];
    if (counts.pieces > 1 && !(to - from > 1e-9)) continue; // narrower pieces come from rounding
    const way = { alarms: counts.falseAlarms[k], found: counts.found[k], tau: 0.5 * (from + to) };
    if (best === null || costOf(way) < costOf(best)) best = way;
  }
  return best;
}

function sayHindsight() {
  const [best, now] = [findBest(), atCosts(counts)];
  const gain = costOf(now) - costOf(best);
  if (!(gain > 1e-12 * (state.costFp + state.costFn))) return "Looking back, no other τ would have cost less on these cases.";
  const band = differenceBand(state, gain, Math.abs(best.alarms - now.alarms), Math.abs(best.found - now.found));
  return `Looking back, deciding these cases at τ = ${say(best.tau, 2)} would have cost ${say(costOf(best))} per case, ${say(gain, 2)} less (95 %: ${sayBand(band)}). That τ was picked because it did best on these very cases; on new cases expect less. Your own costs are the better guide.`;
}

// -- taking it along ----------------------------------------------------------------------------

/** The decisions at these costs as a CSV file. */
const decisionsFile = () => casesFile(
  cases, [data.target ?? "truth", "decision", `probability of ${positive}`],
  (i) => [className(cases.positive[i]), className(cases.decided(i, state.decides)), cases.proba[i]]);

const taking = exportSection(
  cases ? [downloadButton("decisions.csv", decisionsFile, { id: "save-decisions" })] : [],
  cases && `Every case with its decision at your costs.${savedOnly(cases, n)}`);

function showCommands() {
  const adapted = state.decides !== state.tau;
  const [fp, fn] = [neat(state.costFp), neat(state.costFn)];
  taking.show(
    `${adapted ? `--tau ${state.decides}` : `--cost-fp ${fp} --cost-fn ${fn}`} -o decisions.csv`,
    adapted ? `tau=${state.decides}` : `cost_fp=${fp}, cost_fn=${fn}`);
}

// -- the page -----------------------------------------------------------------------------------

const view = cases && new CaseView(state, () => settingsChanged());
const lists = cases
  ? new CaseSections(state, () => settingsChanged(), (i) => view.open(i))
  : new RangeSection(state, () => settingsChanged());
const costCurves = costChart(state);
const charts = [
  ratesChart(state),
  rocChart(state),
  benefitChart(state),
  reliabilityChart(data.reliability, positive, "Reliability of the probabilities", RELIABILITY_NOTE),
  data.boundary && boundaryChart(state, data.boundary),
  data.coefficients && weightsChart({
    getTau: () => state.decides, follow: (tau) => setTau(state.costsOf(tau)), along: SCALE, x: RATIO_AXIS, rises: "f rises",
  }),
].filter((chart) => chart !== null);
const weights = data.coefficients && weightsTable(() => state.decides);

const drawSoon = oncePerFrame((changed) => {
  refresh([costCurves, ...charts], changed);
  lists.show();
  view?.show();
  weights?.show();
});

/** Show the present state, after "costs" or "prevalence" have changed. */
function update(setting) {
  state.decides = state.decidesAt(state.tau);
  control.show(state.tau, showHeadline());
  costFpField.show(state.costFp);
  costFnField.show(state.costFn);
  prevalenceField.show(100 * state.prevalence, 4);
  showMatrix();
  metrics.show();
  showCostNote();
  showScores();
  showCommands();
  settingsChanged();
  drawSoon(setting);
}

const rule = data.rule === "sign"
  ? "A case is taken for positive where the decision function of this τ is at least 0."
  : "A case is taken for positive where its probability is at least τ.";

startPage(headline, [
  constantNote,
  worseNote,
  element("div", { class: "first" },
    card("controls", "What do mistakes cost you?", { class: "card controls" },
      element("div", { class: "fields" }, costFpField.node, costFnField.node,
        element("div", { class: "with-reset" }, prevalenceField.node, resetPrevalence, adaptLabel)),
      control.node, costNote, constantWhere),
    card("outcome", "What happens then", { class: "card" }, matrix, metrics.node),
    costCurves.node,
    card("beside", COMPARED, { class: "card beside" }, scoreTable, versus, hindsight)),
  ...lists.nodes(),
  view && view.node,
  section("charts", "At every ratio of costs", chartGrid(charts)),
  frontierSection(),
  weights && weights.node,
  taking.node,
], [
  ["τ", `Cost of a false alarm, divided by the sum of both costs. The model has a support vector machine for every τ; moving the slider moves between all of them. ${rule}`],
  ["False alarm, miss", `A ${negative} case taken for ${positive}; a ${positive} case taken for ${negative}.`],
  ["Cost", "What mistakes cost, per case or in total, in the unit of the two costs."],
  ["95 % band", "How far the cost may be off because there are only so many cases: Wilson's intervals of both rates of mistakes, combined. It says nothing about cases of another kind."],
  ["Without looking", `Calling every case ${positive}, or none: whichever costs less.`],
  ...(others.length ? [[others.map((other) => other.name).join(", "), `Taken for ${positive} where its probability is at least τ. Brier score: ${others.map((other) => say(other.brier)).join(", ")}; of this model ${say(data.reliability.brier)}.`]] : []),
  [`Share of ${positive}`, "Costs, accuracy, precision and net benefit are those of cases among which the classes have these shares. Rates within a class, and the reliability diagram, do not change."],
  ["Net benefit", "Right alarms less false ones, the latter weighted by τ / (1 − τ), per case."],
  ["Probability", `The part of [0, 1] of all τ at which a case is taken for positive.${data.withCosts ? ` With costs in training, it is the share of the expected cost of a case that is due to missing ${positive}; Brier score and reliability compare it with shares of cases.` : ""}`],
]);

settingsChanged = keepInAddress({
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
    const costs = given.costs("fp", "fn");
    const range = given.numbers("range", 2, 0, LARGEST_WORTH);
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
    drawSoon("prevalence");
    if (costs) setCosts(...costs);
    else setTau(usual.tau);
  },
});
