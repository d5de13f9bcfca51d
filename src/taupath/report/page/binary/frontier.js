// Paths over an L1 penalty or over fairness at one τ: what fewer columns, or equal treatment, would cost.

/** The scale of a path's parameter: dense where most happens. */
function frontierScale({ end, power }) {
  const at = (position) => end * position ** power;
  const position = (value) => clamp(value / end, 0, 1) ** (1 / power);
  const ticks = roundTicks([0, end], 5).concat(power > 1 ? roundTicks([0, end / 25], 2).slice(1) : []);
  return { position, at, rounded: at, ticks: ticks.sort((a, b) => a - b).map((tick) => [tick, say(tick)]) };
}

/** Two charts of one path, which follow one value of its parameter, and the sentence for it. */
class FrontierView {
  constructor(frontier) {
    this.frontier = frontier;
    this.last = frontier.found.length - 1;
    this.k = frontier.sparse ? 0 : this.last;
    this.scale = frontierScale(frontier);
    this.text = element("p", { class: "frontier-now", "aria-live": "polite" });
    this.charts = [this.costs(), frontier.sparse ? this.columns() : this.shares()].filter((chart) => chart !== null);
    this.slider = element("input", {
      type: "range", min: 0, max: this.last, step: 1, "aria-label": `${frontier.name}: ${frontier.symbol}`,
      oninput: () => this.follow(this.valueAt(Number(this.slider.value))),
    });
    this.node = element("div", { class: "card frontier" }, element("h3", {}, frontier.name), this.text, this.slider,
      element("div", { class: "grid two" }, ...this.charts.map((chart) => chart.node)),
      element("p", { class: "note" }, `Every solution is at τ = ${say(frontier.tau)}, that is at costs of ${sayRatio(frontier.tau)}, and exact: the largest relative duality gap found is ${say(frontier.worstGap, 2)}. Counts are those of these cases, at ${this.last + 1} values of ${frontier.symbol}; a false alarm costs ${say(2 * frontier.tau)}, a miss ${say(2 - 2 * frontier.tau)}.`));
    this.show();
  }

  valueAt(k) {
    return this.scale.at(k / this.last);
  }

  get value() {
    return this.valueAt(this.k);
  }

  /** Mean cost per case at the k-th value, where a false alarm and a miss cost τ and 1 - τ, doubled. */
  cost(k) {
    const { tau, alarms, found } = this.frontier;
    return (2 * (tau * alarms[k] + (1 - tau) * (nPositive - found[k]))) / n;
  }

  follow(value) {
    this.k = Math.round(this.scale.position(value) * this.last);
    this.show();
    this.charts.forEach((chart) => chart.move());
  }

  show() {
    const { alarms, found, features, sparse, symbol, shares, groups } = this.frontier;
    const which = sparse
      ? `${counted(features[this.k], "column", "columns")} (${symbol} = ${say(this.value)})`
      : `Covariance with the group at most ${say(this.value)}`;
    const apart = shares ? ` Taken for ${positive}: ${groups.map((name, g) => `${percent(shares[g][this.k])} of ${name}`).join(", ")}.` : "";
    this.text.replaceChildren(element("b", {}, `${which}: `),
      `${counted(alarms[this.k], "false alarm", "false alarms")}, ${counted(nPositive - found[this.k], "miss", "misses")}; cost per case ${say(this.cost(this.k))}.${apart}`);
    this.slider.value = this.k;
    this.slider.style.setProperty("--at", this.k / this.last);
    this.slider.setAttribute("aria-valuetext", this.text.textContent);
  }

  points(y) {
    return Array.from({ length: this.last + 1 }, (_, k) => [this.valueAt(k), y(k)]);
  }

  chart(options) {
    const { symbol, sparse } = this.frontier;
    return new Chart({
      ratio: 0.62, x: sparse ? `${symbol}, weight of the L1 penalty` : `${symbol}, largest covariance with the group`,
      along: this.scale, follow: (value) => this.follow(value), ...options,
    });
  }

  costs() {
    const most = Math.max(...Array.from({ length: this.last + 1 }, (_, k) => this.cost(k)), 1e-3);
    return this.chart({
      title: "Cost of the decisions", y: "cost per case", yRange: () => [0, 1.06 * most],
      base: (chart) => chart.line(this.points((k) => this.cost(k)), "cost"),
      moving: (chart) => {
        chart.cursor(this.value);
        chart.dot(this.value, this.cost(this.k), "cost");
        chart.explain([["cost", "cost per case", say(this.cost(this.k))]]);
      },
      describe: () => `Cost per case from ${say(this.cost(0))} at 0 to ${say(this.cost(this.last))} at ${say(this.frontier.end)}; at ${say(this.value)} it is ${say(this.cost(this.k))}.`,
    });
  }

  columns() {
    const { features } = this.frontier;
    return this.chart({
      title: "Columns with a weight", y: "columns", yRange: () => [0, 1.06 * Math.max(...features, 1)],
      base: (chart) => chart.line(this.points((k) => features[k]), "positive"),
      moving: (chart) => {
        chart.cursor(this.value);
        chart.dot(this.value, features[this.k], "positive");
        chart.explain([["positive", "columns", sayCount(features[this.k])]]);
      },
      describe: () => `Columns with a weight: ${sayCount(features[0])} at 0, ${sayCount(features[this.k])} at ${say(this.value)}.`,
    });
  }

  shares() {
    const { shares, groups } = this.frontier;
    if (!shares) return null;
    const marks = ["positive", "negative"];
    return this.chart({
      title: "Both groups", y: `share taken for ${positive}`, yTick: asPercent, yRange: unit,
      base: (chart) => shares.forEach((own, g) => chart.line(this.points((k) => own[k]), marks[g])),
      moving: (chart) => {
        chart.cursor(this.value);
        shares.forEach((own, g) => chart.dot(this.value, own[this.k], marks[g]));
        chart.explain(groups.map((name, g) => [marks[g], name, percent(shares[g][this.k])]));
      },
      describe: () => `Share taken for ${positive}: ${groups.map((name, g) => `${name} ${percent(shares[g][this.k])}`).join(", ")}.`,
    });
  }
}

/** The section of all such paths; null without any. */
function frontierSection() {
  const frontiers = data.frontiers ?? [];
  if (!frontiers.length) return null;
  return section("frontiers", "What fewer columns or equal treatment would cost", ...frontiers.map((frontier) => new FrontierView(frontier).node));
}
