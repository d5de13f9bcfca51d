// Two classes: which decisions change within a range of costs, and mistakes, case by case.

const SHOWN_COLUMNS = 8;
const FIRST_ROWS = 12;
const MORE_ROWS = 48;

/** "malignant" or "benign". */
const className = (one) => (one ? positive : negative);

/** A table of cases whose columns may be many, with a button for more rows. */
class CaseTable {
  constructor({ caption, id, heads, row, onMore }) {
    Object.assign(this, { heads, row });
    this.most = FIRST_ROWS;
    this.scroller = table(caption, [], [], id);
    this.more = button("Show more", () => {
      this.most += MORE_ROWS;
      onMore();
    }, { class: "quiet more", id: `${id}-more` });
    this.note = element("p", { class: "note", id: `${id}-note` });
  }

  /** Show some cases, by their places in `cases`. */
  show(list, columns, note) {
    const heads = [...this.heads, ...columns.map((column) => [column.name, column.numeric])];
    const rows = list.slice(0, this.most).map((i) => [...this.row(i), ...columns.map((column) => column.texts[i])]);
    const [head, body] = [this.scroller.querySelector("thead"), this.scroller.querySelector("tbody")];
    head.replaceChildren(headRow(heads));
    body.replaceChildren(...rows.map((cells) => tableRow(cells, heads)));
    this.more.hidden = list.length <= this.most;
    this.note.textContent = note;
  }
}

/** What changes within a range of costs; how many cases, without a list of them. */
class RangeSection {
  constructor(state, changed) {
    Object.assign(this, { state, changed });
    this.low = this.worthField("low", "A miss is worth at least");
    this.high = this.worthField("high", "and at most");
    this.summary = element("p", { class: "summary", id: "flips" });
  }

  worthField(end, label) {
    return numberField({
      label, id: `worth-${end}`, min: 0, max: 1e9, hint: "false alarms",
      take: (value) => {
        this.state.range = { ...this.range(), [end]: value };
        this.showRange();
        this.showFlips();
        this.changed();
        return "";
      },
    });
  }

  /** What a miss may be worth: as typed, in any order, or half to twice what it costs now. */
  range() {
    const { range, tau } = this.state;
    const worth = clamp((1 - tau) / tau, 1e-6, 1e6);
    return range ?? { low: Number((worth / 2).toPrecision(3)), high: Number((2 * worth).toPrecision(3)) };
  }

  /** The same range as values of τ. */
  taus() {
    const worth = Object.values(this.range()).sort((a, b) => b - a);
    return worth.map((times) => this.state.decidesAt(1 / (1 + times)));
  }

  /** "between 5 and 50 false alarms". */
  sayRange() {
    const [low, high] = Object.values(this.range()).sort((a, b) => a - b);
    return `between ${say(low)} and ${say(high)} false alarms`;
  }

  show() {
    this.showRange();
    this.showFlips();
  }

  showRange() {
    const { low, high } = this.range();
    this.low.show(low);
    this.high.show(high);
  }

  showFlips() {
    const changing = countWavering(...this.taus());
    this.summary.replaceChildren(
      element("b", {}, `At least ${counted(changing, "case changes", "cases change")} if a miss is worth ${this.sayRange()}`),
      `: at one end of the range the alarm is raised for so many more of the ${sayCount(n)}.`);
  }

  nodes() {
    return [this.node()];
  }

  node(...list) {
    return section("range", "Which cases flip?",
      element("div", { class: "card" },
        element("p", { class: "note first-note" }, "Not sure what a miss is worth? Give a range, and see which decisions depend on it."),
        element("div", { class: "fields two" }, this.low.node, this.high.node),
        this.summary, ...list));
  }
}

/** The same with the cases, and the mistakes at these costs. `open(i)` shows one case. */
class CaseSections extends RangeSection {
  constructor(state, { open, changed }) {
    super(state, changed);
    const rowButton = (i) => button(String(cases.rows[i] + 1), () => open(i), {
      class: "link", "aria-label": `Look at row ${cases.rows[i] + 1}`,
    });
    const probability = (i) => percent(cases.proba[i]);
    this.mistakes = new CaseTable({
      caption: "Mistakes at your costs", id: "mistakes-table", onMore: () => this.showMistakes(),
      heads: [["row", true], ["mistake", false], [`P(${positive})`, true], ...(cases.functions ? [["f at this τ", true]] : [])],
      row: (i) => [
        rowButton(i),
        element("span", { class: `tag ${cases.positive[i] ? "miss" : "alarm"}` }, cases.positive[i] ? "miss" : "false alarm"),
        probability(i),
        ...(cases.functions ? [sayFixed(cases.functions.value(i, state.decides), 2)] : []),
      ],
    });
    this.flips = new CaseTable({
      caption: "Cases within the range of costs", id: "flips-table", onMore: () => this.showFlips(),
      heads: [["row", true], [data.target ?? "really", false], ["at your costs", false], ["changes at", false], [`P(${positive})`, true]],
      row: (i) => [rowButton(i), className(cases.positive[i]), className(cases.decided(i, state.decides)), this.sayFlips(i), probability(i)],
    });
    this.kind = choice("Show", [["all", "all mistakes"], ["alarms", "false alarms"], ["misses", "misses"]], (kind) => {
      state.kind = kind;
      this.showMistakes();
      changed();
    }, { id: "kind" });
    this.list = choice("List", [
      ["change", "cases that change: worth an expert's look"],
      ["always", `always taken for ${positive}`],
      ["never", `never taken for ${positive}`],
    ], (list) => {
      state.list = list;
      this.flips.most = FIRST_ROWS;
      this.showFlips();
      changed();
    }, { id: "flip-list" });
    this.columnButtons = [];
  }

  /** The ratios at which the decision about a case changes. */
  sayFlips(i) {
    const flips = cases.flips(i);
    return flips.length ? flips.map((tau) => sayRatio(this.state.costsOf(tau))).join(", ") : "never";
  }

  columns() {
    return this.state.allColumns ? cases.columns : cases.columns.slice(0, SHOWN_COLUMNS);
  }

  /** A button for the columns that are not shown yet; null where all are. */
  columnButton(id) {
    const { columns } = cases;
    if (columns.length <= SHOWN_COLUMNS) return null;
    const toggle = button("", () => {
      this.state.allColumns = !this.state.allColumns;
      this.show();
      this.changed();
    }, { class: "quiet", id });
    this.columnButtons.push(toggle);
    return toggle;
  }

  show() {
    const { state } = this;
    for (const [node, value] of [[this.kind, state.kind], [this.list, state.list]]) node.querySelector("select").value = value;
    const order = data.coefficients ? "largest weights first" : "as they were given";
    for (const toggle of this.columnButtons) {
      toggle.textContent = state.allColumns ? `Show ${SHOWN_COLUMNS} columns only` : `${cases.columns.length - SHOWN_COLUMNS} more columns, ${order}`;
      toggle.setAttribute("aria-expanded", String(state.allColumns));
    }
    this.showRange();
    this.showMistakes();
    this.showFlips();
  }

  showMistakes() {
    const { decides, kind } = this.state;
    const wrong = [];
    for (let i = 0; i < cases.length; i++) {
      const decided = cases.decided(i, decides);
      if (decided === cases.positive[i]) continue;
      if (kind === "all" || (kind === "alarms") === (decided === 1)) wrong.push(i);
    }
    // how far its probability is on the wrong side of τ; below 0 where only f is
    const depth = (i) => (cases.positive[i] ? decides - cases.proba[i] : cases.proba[i] - decides);
    wrong.sort((i, j) => depth(j) - depth(i) || i - j);
    const bound = cases.functions ? ` f is off by at most ${say(100 * cases.functions.error, 2)} % of its range; which cases are mistakes is exact.` : "";
    this.mistakes.show(wrong, this.columns(), wrong.length
      ? `${sayCount(Math.min(wrong.length, this.mistakes.most))} of ${sayCount(wrong.length)}, the clearest mistakes first. Row 1 is the first case.${bound}${someOnly()}`
      : `None at your costs.${someOnly()}`);
  }

  showFlips() {
    const { state } = this;
    const [from, to] = this.taus();
    const groups = { change: [], always: [], never: [] };
    for (let i = 0; i < cases.length; i++) {
      const group = cases.wavers(i, from, to) ? "change" : cases.decided(i, from) ? "always" : "never";
      groups[group].push(i);
    }
    const changing = cases.length === n ? groups.change.length : countWavering(from, to);
    const kept = cases.length === n
      ? `: ${sayCount(groups.always.length)} always taken for ${positive}, ${sayCount(groups.never.length)} never` : "";
    this.summary.replaceChildren(
      element("b", {}, `${counted(changing, "case changes", "cases change")} if a miss is worth ${this.sayRange()}`),
      `, and deserve an expert's look. The decision about the other ${sayCount(n - changing)} is the same throughout${kept}.`);
    const list = groups[state.list];
    const near = (i) => Math.min(...cases.flips(i).map((tau) => Math.abs(SCALE.position(tau) - SCALE.position(state.decides))));
    if (state.list === "change") list.sort((i, j) => near(i) - near(j) || cases.rows[i] - cases.rows[j]);
    else list.sort((i, j) => cases.rows[i] - cases.rows[j]);
    this.flips.show(list, this.columns(), list.length
      ? `${sayCount(Math.min(list.length, this.flips.most))} of ${sayCount(list.length)}${state.list === "change" ? ", those that change closest to your costs first" : ""}. Ratios are ${RATIO_AXIS}.${someOnly()}`
      : `None.${someOnly()}`);
  }

  nodes() {
    return [
      this.node(
        element("div", { class: "bar-of" }, this.list, this.columnButton("all-columns")),
        this.flips.scroller, this.flips.more, this.flips.note),
      section("mistakes", "Mistakes at your costs",
        element("div", { class: "card" },
          element("div", { class: "bar-of" }, this.kind, this.columnButton("all-columns-too")),
          this.mistakes.scroller, this.mistakes.more, this.mistakes.note)),
    ];
  }

  /** The decisions at these costs as a CSV file, in the order of the rows. */
  decisionsFile() {
    const { decides } = this.state;
    const known = cases.columns.filter((column) => !column.feature);
    const order = Array.from(cases.rows.keys()).sort((i, j) => cases.rows[i] - cases.rows[j]);
    return csvText(
      ["row", ...known.map((column) => column.name), data.target ?? "truth", "decision", `probability of ${positive}`],
      order.map((i) => [
        cases.rows[i] + 1, ...known.map((column) => column.texts[i]),
        className(cases.positive[i]), className(cases.decided(i, decides)), cases.proba[i],
      ]),
    );
  }
}

/** What to say where not all cases are carried. */
function someOnly() {
  return cases.length < n
    ? ` Of ${sayCount(n)} cases, the ${sayCount(cases.length)} that the model is most wrong about are listed; all are in the counts.` : "";
}
