// Two classes, one case: at which costs its decision changes, and which columns tip it.

// Columns listed by themselves; the others are added up.
const MOST_PARTS = 10;
// Points at which the chart looks for the range of f.
const RANGE_POINTS = 61;

class CaseView {
  constructor(state, changed) {
    Object.assign(this, { state, changed });
    this.field = numberField({
      label: "Row", id: "case-row", min: 1, max: Math.max(...cases.rows) + 1, hint: "or press a row number in a table",
      take: (value) => {
        const i = cases.rows.indexOf(value - 1);
        if (i < 0) return Number.isInteger(value) ? "this row is not in the file" : "a whole number";
        this.choose(i);
        return "";
      },
    });
    this.text = element("div", { id: "case-text", "aria-live": "polite" });
    this.parts = element("div", { id: "case-parts" });
    this.chart = cases.functions ? this.makeChart() : null;
    this.details = element("div", { class: "one-case" });
    this.node = section("case", "One case", element("div", { class: "card" },
      element("div", { class: "fields two" }, this.field.node), this.details));
    this.weights = data.coefficients && cases.features && new Functions(data.coefficients.functions);
    this.average = this.weights && new Functions(data.coefficients.average);
  }

  choose(i) {
    this.state.case = i;
    this.show();
    this.changed();
  }

  /** Show a case and go there. */
  open(i) {
    this.choose(i);
    this.node.scrollIntoView({ block: "start" });
    this.field.input.focus({ preventScroll: true });
  }

  show() {
    const { state } = this;
    const i = state.case;
    this.details.replaceChildren(...(i === null ? [] : [this.text, this.chart?.node ?? "", this.parts]));
    if (i === null) return;
    this.field.show(cases.rows[i] + 1);
    const truth = cases.positive[i];
    const decided = cases.decided(i, state.decides);
    const verdict = truth === decided ? "correctly" : truth ? "a miss" : "a false alarm";
    this.text.replaceChildren(
      element("p", { class: "summary" },
        element("b", {}, `Row ${cases.rows[i] + 1}: really ${className(truth)}, at your costs taken for ${className(decided)} (${verdict}).`),
        ` Probability of ${positive}: ${percent(cases.proba[i])}.`),
      element("p", { id: "case-flips" }, this.sayChanges(i)),
    );
    this.showParts(i);
    this.chart?.draw();
  }

  sayChanges(i) {
    const flips = cases.flips(i);
    if (!flips.length) return `It is taken for ${className(cases.decided(i, 0.5))} whatever the costs.`;
    const worth = (tau) => {
      const costs = this.state.costsOf(tau);
      return `a miss is worth ${say((1 - costs) / costs)} false alarms (${sayRatio(costs)})`;
    };
    if (flips.length === 1 && cases.decided(i, 0.5 * flips[0])) {
      return `It flips where ${worth(flips[0])}: taken for ${positive} if a miss is worth more, for ${negative} if less.`;
    }
    return `It flips ${counted(flips.length, "time", "times")}: ${flips.map((tau, k) => `to ${className(cases.decided(i, 0.5 * (tau + (flips[k + 1] ?? 1))))} where ${worth(tau)}`).join("; ")}; from expensive misses to expensive false alarms.`;
  }

  /** The flip of a case that is nearest to the present costs, null if there is none. */
  turningPoint(i) {
    const { decides } = this.state;
    return cases.flips(i).sort((tau, other) => distance(tau, decides) - distance(other, decides))[0] ?? null;
  }

  /** What each column adds to f, compared with the average case. */
  contributions(i, tau) {
    const { names, means, deviations } = data.coefficients;
    const m = names.length;
    return names.map((name, j) => {
      const value = cases.features[i * m + j];
      return { name, value, mean: means[j], part: (this.weights.value(j, tau) * (value - means[j])) / deviations[j] };
    });
  }

  showParts(i) {
    if (!this.weights) {
      this.parts.replaceChildren(element("p", { class: "note" }, "Which columns tip a decision is known for linear models only."));
      return;
    }
    const flip = this.turningPoint(i);
    const tau = flip ?? this.state.decides;
    const parts = this.contributions(i, tau).sort((a, b) => Math.abs(b.part) - Math.abs(a.part));
    const top = parts.slice(0, MOST_PARTS);
    const average = this.average.value(0, tau);
    const sum = (list) => list.reduce((total, { part }) => total + part, 0);
    // f is 0 where the decision flips
    const total = flip !== null ? 0 : cases.functions ? cases.functions.value(i, tau) : average + sum(parts);
    const rest = total - average - sum(top);
    const largest = Math.max(...top.map(({ part }) => Math.abs(part)), 1e-12);
    const bar = (part) => {
      const node = element("span", { class: `push ${part > 0 ? "positive" : "negative"}`, "aria-hidden": "true" });
      node.style.setProperty("--part", Math.min(Math.abs(part) / largest, 1));
      return element("span", { class: "pushes" }, node, sayFixed(part, 3));
    };
    const text = (name, value) => cases.columns.find((column) => column.name === name)?.texts[i] || say(value, 5);
    const where = flip === null ? "your costs" : `its turning point, ${sayRatio(this.state.costsOf(tau))}`;
    const heads = [["column", false], ["this case", true], ["average", true], ["pushes towards", false], ["by", false]];
    const rows = top.map(({ name, value, mean, part }) => [name, text(name, value), say(mean, 4), className(part > 0), bar(part)]);
    rows.push(["everything else", "", "", className(rest > 0), bar(rest)]);
    const body = table("Contributions to the decision", heads, "parts-table");
    showRows(body, heads, rows);
    this.parts.replaceChildren(
      element("h3", {}, `Contributions at ${where}`),
      body,
      element("p", { class: "note" }, `f of the average case is ${sayFixed(average, 3)} there; with these parts it becomes ${sayFixed(total, 3)} for this one. It is taken for ${positive} where f is at least 0. A part is the column's weight times its distance from the average of these ${sayCount(n)} cases.`),
    );
  }

  /** f of this case along the costs; only drawn while a case is chosen. */
  makeChart() {
    const { state } = this;
    const f = (tau) => cases.functions.value(state.case, state.decidesAt(tau));
    const flips = () => cases.flips(state.case).map((tau) => state.costsOf(tau));
    return new Chart({
      title: "f of this case along the costs", class: "strip", ratio: 0.25, x: RATIO_AXIS, y: "f", along: SCALE, follow: state.setTau,
      yRange: () => {
        const values = Array.from({ length: RANGE_POINTS }, (_, k) => f(SCALE.at(k / (RANGE_POINTS - 1))));
        return extent([-0.2, 0.2, ...values]).map((end) => 1.1 * end);
      },
      base: (chart) => {
        chart.line([[0, 0], [1, 0]], "faint dashed");
        chart.curve(f, "ink");
        for (const tau of flips()) chart.diamond(tau, 0, "best");
        chart.explain([["ink", "f", ""], ["best", "flips", flips().map(sayRatio).join(", ") || "nowhere", "diamond"]]);
      },
      moving: (chart) => chart.cursor(state.tau),
      describe: () => `f of row ${cases.rows[state.case] + 1} along the costs. ${this.sayChanges(state.case)}`,
    });
  }
}
