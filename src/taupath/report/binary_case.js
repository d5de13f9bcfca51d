// Two classes, one case: at which costs its decision changes, and which columns turn it.

const MOST_PARTS = 10;

class CaseView {
  constructor(state, { changed }) {
    this.state = state;
    this.changed = changed;
    this.field = numberField({
      label: "Row", id: "case-row", min: 1, max: Math.max(...cases.rows) + 1, hint: "or press a row number in a table",
      take: (value) => {
        const i = cases.rows.indexOf(value - 1);
        if (i < 0) return Number.isInteger(value) ? "this row is not in the file" : "a whole number";
        state.case = i;
        this.show();
        changed();
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

  /** Show a case and go there. */
  open(i) {
    this.state.case = i;
    this.show();
    this.changed();
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
    const verdict = truth === decided ? "rightly" : truth ? "a miss" : "a false alarm";
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
    return `It flips ${flips.length} times: ${flips.map((tau, k) => `to ${className(cases.decided(i, 0.5 * (tau + (flips[k + 1] ?? 1))))} where ${worth(tau)}`).join("; ")}; going from expensive misses to expensive false alarms.`;
  }

  /** The τ that a case is explained at: where it flips next to the present costs, or these. */
  turningPoint(i) {
    const { decides } = this.state;
    const away = (tau) => Math.abs(SCALE.position(tau) - SCALE.position(decides));
    return cases.flips(i).reduce((best, tau) => (best === null || away(tau) < away(best) ? tau : best), null);
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
      this.parts.replaceChildren(element("p", { class: "note" }, "Which columns turn a decision can be told for linear models only."));
      return;
    }
    const flip = this.turningPoint(i);
    const tau = flip ?? this.state.decides;
    const parts = this.contributions(i, tau).sort((a, b) => Math.abs(b.part) - Math.abs(a.part));
    const top = parts.slice(0, MOST_PARTS);
    const average = this.average.value(0, tau);
    const total = flip === null ? (cases.functions ? cases.functions.value(i, tau) : average + sum(parts)) : 0;
    const rest = total - average - sum(top);
    const largest = Math.max(...top.map(({ part }) => Math.abs(part)), 1e-12);
    const bar = (part) => {
      const node = element("span", { class: `push ${part > 0 ? "positive" : "negative"}`, "aria-hidden": "true" });
      node.style.setProperty("--part", Math.abs(part) / largest);
      return element("span", { class: "pushes" }, node, sayFixed(part, 3));
    };
    const text = (name, value) => cases.columns.find((column) => column.name === name)?.texts[i] || say(value, 5);
    const where = `${flip === null ? "your costs" : `its turning point, ${sayRatio(this.state.costsOf(tau))}`}`;
    const heads = [["column", false], ["this case", true], ["average", true], ["pushes towards", false], ["by", false]];
    const rows = top.map(({ name, value, mean, part }) => [name, text(name, value), say(mean, 4), className(part > 0), bar(part)]);
    rows.push([`everything else`, "", "", className(rest > 0), bar(clamp(rest, -largest, largest) === rest ? rest : Math.sign(rest) * largest)]);
    rows[rows.length - 1][4].lastChild.textContent = sayFixed(rest, 3);
    this.parts.replaceChildren(
      element("h3", {}, `What turns it, at ${where}`),
      table("What turns this case", heads, rows, "parts-table"),
      element("p", { class: "note" }, `f of the average case is ${sayFixed(average, 3)} there; with these parts it is ${sayFixed(total, 3)} for this one. It is taken for ${positive} where f is at least 0. A part is the column's weight times its distance from the average of these ${sayCount(n)} cases.`),
    );
  }

  /** f of this case along the costs. */
  makeChart() {
    const { state } = this;
    const f = (tau) => cases.functions.value(state.case, state.decidesAt(tau));
    return new Chart({
      title: "f of this case along the costs", class: "strip plain", ratio: 0.25, x: RATIO_AXIS, y: "f", along: SCALE, follow: state.setTau,
      yRange: () => {
        let [low, high] = [-0.2, 0.2];
        if (state.case === null) return [low, high];
        for (let k = 0; k <= 60; k++) {
          const value = f(SCALE.at(k / 60));
          [low, high] = [Math.min(low, value), Math.max(high, value)];
        }
        return [1.1 * low, 1.1 * high];
      },
      base: (chart) => {
        if (state.case === null) return;
        chart.line([[0, 0], [1, 0]], "faint dashed");
        chart.curve(f, "ink");
        for (const tau of cases.flips(state.case)) chart.diamond(state.costsOf(tau), 0, "best");
        chart.explain([["ink", "f", ""], ["best", "flips", this.state.case === null ? "" : cases.flips(state.case).map((tau) => sayRatio(state.costsOf(tau))).join(", ") || "nowhere", "diamond"]]);
      },
      moving: (chart) => {
        if (state.case !== null) chart.cursor(state.tau);
      },
      describe: () => (state.case === null ? "No case is chosen." : `f of row ${cases.rows[state.case] + 1} along the costs. ${this.sayChanges(state.case)}`),
    });
  }
}

function sum(parts) {
  return parts.reduce((total, { part }) => total + part, 0);
}
