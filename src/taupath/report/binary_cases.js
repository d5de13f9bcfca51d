// Two classes: which decisions change within a range of costs, and mistakes, case by case.

/** "malignant" or "benign". */
const className = (one) => (one ? positive : negative);

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
      `, of ${sayCount(n)}. Which ones is not in this file.`);
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
    this.columns = new ColumnChoice(cases.columns, state, () => {
      this.show();
      changed();
    });
  }

  /** The ratios at which the decision about a case changes. */
  sayFlips(i) {
    const flips = cases.flips(i);
    return flips.length ? flips.map((tau) => sayRatio(this.state.costsOf(tau))).join(", ") : "never";
  }

  show() {
    const { state } = this;
    for (const [node, value] of [[this.kind, state.kind], [this.list, state.list]]) node.querySelector("select").value = value;
    this.columns.show();
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
    const bound = cases.functions ? ` f is ${sayOff(cases.functions, "its")}; which cases are mistakes is exact.` : "";
    this.mistakes.show(wrong, this.columns.shown(), wrong.length
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
    this.flips.show(list, this.columns.shown(), list.length
      ? `${sayCount(Math.min(list.length, this.flips.most))} of ${sayCount(list.length)}${state.list === "change" ? ", those that change closest to your costs first" : ""}. Ratios are ${RATIO_AXIS}.${someOnly()}`
      : `None.${someOnly()}`);
  }

  nodes() {
    return [
      this.node(
        element("div", { class: "bar-of" }, this.list, this.columns.button("all-columns")),
        this.flips.scroller, this.flips.more, this.flips.note),
      section("mistakes", "Mistakes at your costs",
        element("div", { class: "card" },
          element("div", { class: "bar-of" }, this.kind, this.columns.button("all-columns-too")),
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
