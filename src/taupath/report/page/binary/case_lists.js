// Two classes: which decisions change within a range of costs, and mistakes, case by case.

const className = (isPositive) => (isPositive ? positive : negative);

/** How far apart two τ are on the slider. */
const distance = (tau, other) => Math.abs(SCALE.position(tau) - SCALE.position(other));

/** How many cases change within a range of costs, without a list of them. */
class RangeSection {
  constructor(state, changed) {
    Object.assign(this, { state, changed });
    this.low = this.worthField("low", "A miss is worth at least");
    this.high = this.worthField("high", "and at most");
    this.summary = element("p", { class: "summary", id: "flips" });
  }

  worthField(end, label) {
    return numberField({
      label, id: `worth-${end}`, min: 0, max: LARGEST_WORTH, hint: "false alarms",
      take: (value) => {
        this.state.range = { ...this.range(), [end]: value };
        this.showRange();
        this.changed();
      },
    });
  }

  /** What a miss may be worth: as typed, in any order, or half to twice what it costs now. */
  range() {
    const { range, tau } = this.state;
    const worth = clamp((1 - tau) / tau, 1e-6, 1e6);
    return range ?? { low: neat(worth / 2, 3), high: neat(2 * worth, 3) };
  }

  /** The same range as values of τ. */
  taus() {
    const worth = Object.values(this.range()).sort((a, b) => b - a);
    return worth.map((times) => this.state.decidesAt(1 / (1 + times)));
  }

  /** "3 cases change if a miss is worth between 5 and 50 false alarms". */
  sayChanging(count) {
    const [low, high] = Object.values(this.range()).sort((a, b) => a - b);
    return `${counted(count, "case changes", "cases change")} if a miss is worth between ${say(low)} and ${say(high)} false alarms`;
  }

  show() {
    this.showRange();
  }

  showRange() {
    const { low, high } = this.range();
    this.low.show(low);
    this.high.show(high);
    this.showFlips(...this.taus());
  }

  showFlips(from, to) {
    this.summary.replaceChildren(
      element("b", {}, `At least ${this.sayChanging(countWavering(from, to))}`),
      `, of ${sayCount(n)}. This file does not say which ones.`);
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

/** The same with a list of the cases, and one of the mistakes at these costs. `open(i)` shows one case. */
class CaseSections extends RangeSection {
  constructor(state, changed, open) {
    super(state, changed);
    const rowButton = (i) => button(String(cases.rows[i] + 1), () => open(i), {
      class: "link", "aria-label": `Look at row ${cases.rows[i] + 1}`,
    });
    const probability = (i) => percent(cases.proba[i]);
    const changes = (i) => cases.flips(i).map((tau) => sayRatio(state.costsOf(tau))).join(", ") || "never";
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
      caption: "Cases within the range of costs", id: "flips-table", onMore: () => this.showRange(),
      heads: [["row", true], [data.target ?? "really", false], ["at your costs", false], ["changes at", false], [`P(${positive})`, true]],
      row: (i) => [rowButton(i), className(cases.positive[i]), className(cases.decided(i, state.decides)), changes(i), probability(i)],
    });
    this.kind = choice("kind", "Show", [["all", "all mistakes"], ["alarms", "false alarms"], ["misses", "misses"]], (kind) => {
      state.kind = kind;
      this.showMistakes();
      changed();
    });
    this.list = choice("flip-list", "List", [
      ["change", "cases that change: worth an expert's look"],
      ["always", `always taken for ${positive}`],
      ["never", `never taken for ${positive}`],
    ], (list) => {
      state.list = list;
      this.flips.most = FIRST_ROWS;
      this.showRange();
      changed();
    });
    this.columns = new ColumnChoice(cases.columns, state, () => {
      this.show();
      changed();
    });
  }

  show() {
    this.kind.show(this.state.kind);
    this.list.show(this.state.list);
    this.columns.show();
    this.showMistakes();
    this.showRange();
  }

  showMistakes() {
    const { decides, kind } = this.state;
    const kinds = { all: [0, 1], alarms: [0], misses: [1] };
    const wrong = Array.from(cases.rows.keys()).filter((i) =>
      cases.decided(i, decides) !== cases.positive[i] && kinds[kind].includes(cases.positive[i]));
    // how far its probability is on the wrong side of τ; below 0 where only f is
    const depth = (i) => (cases.positive[i] ? decides - cases.proba[i] : cases.proba[i] - decides);
    wrong.sort((i, j) => depth(j) - depth(i) || i - j);
    const bound = cases.functions ? ` f is ${sayOff(cases.functions, "its")}; which cases are mistakes is exact.` : "";
    this.mistakes.show(wrong, this.columns.shown(), {
      about: `, the clearest mistakes first. Row 1 is the first case.${bound}`,
      none: "None at your costs.", after: someOnly(cases, n),
    });
  }

  showFlips(from, to) {
    const { list, decides } = this.state;
    const groups = { change: [], always: [], never: [] };
    for (let i = 0; i < cases.length; i++) {
      const group = cases.wavers(i, from, to) ? "change" : cases.decided(i, from) ? "always" : "never";
      groups[group].push(i);
    }
    const complete = cases.length === n;
    const changing = complete ? groups.change.length : countWavering(from, to);
    const kept = complete
      ? `: ${sayCount(groups.always.length)} always taken for ${positive}, ${sayCount(groups.never.length)} never` : "";
    this.summary.replaceChildren(
      element("b", {}, this.sayChanging(changing)),
      `${changing ? ": worth an expert's look" : ""}. The decision about the other ${sayCount(n - changing)} is the same throughout${kept}.`);
    const near = (i) => (list === "change" ? Math.min(...cases.flips(i).map((tau) => distance(tau, decides))) : 0);
    const shown = groups[list].sort((i, j) => near(i) - near(j) || cases.rows[i] - cases.rows[j]);
    this.flips.show(shown, this.columns.shown(), {
      about: `${list === "change" ? ", those that change closest to your costs first" : ""}. Ratios are ${RATIO_AXIS}.`,
      none: "None.", after: someOnly(cases, n),
    });
  }

  nodes() {
    return [
      this.node(element("div", { class: "bar-of" }, this.list.node, this.columns.button("all-columns")), ...this.flips.nodes),
      section("mistakes", "Mistakes at your costs",
        element("div", { class: "card" },
          element("div", { class: "bar-of" }, this.kind.node, this.columns.button("all-columns-too")),
          ...this.mistakes.nodes)),
    ];
  }
}
