// Several classes: what if mistakes on one class cost 1 to 100 times as much?

const MOST_TIMES = 100;

const timesPosition = (times) => clamp(Math.log10(times) / Math.log10(MOST_TIMES), 0, 1);
const roundedTimes = (position) => neat(MOST_TIMES ** position, 3);

/** From 1 to 100 times, on a logarithmic scale. */
const TIMES = {
  position: timesPosition,
  at: (position) => MOST_TIMES ** position,
  rounded: roundedTimes,
  move: (times, steps, fine) => roundedTimes(clamp(timesPosition(times) + steps / (fine ? 200 : 20), 0, 1)),
  page: 5,
  ends: [1, MOST_TIMES],
  ticks: [1, 2, 5, 10, 20, 50, 100].map((times) => [times, `×\u2009${times}`]),
};

/** All decisions along the scale, for one matrix of costs and one class. */
class Along {
  constructor(costs, row) {
    Object.assign(this, { costs, row });
    this.steps = Array.from({ length: size }, (_, i) => decisionsAlong(i, costs, row, MOST_TIMES));
    const events = [];
    const begin = new Float64Array(k); // how many of each class are found at the beginning
    this.steps.forEach((steps, i) => {
      const right = steps.map(([, decision]) => Number(decision === truth[i]));
      begin[truth[i]] += right[0] * alike[i];
      for (let s = 1; s < steps.length; s++) {
        if (right[s] !== right[s - 1]) events.push([steps[s][0], truth[i], (right[s] - right[s - 1]) * alike[i]]);
      }
    });
    events.sort((a, b) => a[0] - b[0]);
    this.when = Float64Array.from(events, ([when]) => when);
    this.found = names.map((_, j) => runningTotals(begin[j], events.map(([, c, change]) => (c === j ? change : 0))));
  }

  /** The share of a class that is taken for it. */
  rate(j, times) {
    return perClass[j] ? this.found[j][lowerBound(this.when, times)] / perClass[j] : NaN;
  }

  /** The decision about one case. */
  decided(i, times) {
    return this.steps[i].findLast(([when], s) => s === 0 || when < times)[1];
  }

  /** Changes of the decision about a case within a range. */
  changes(i, low, high) {
    return this.steps[i].slice(1).filter(([when]) => when >= low && when < high);
  }

  /** Cost per case along the scale, at some points of it. */
  curve(points) {
    return points.map((times) => {
      const costs = timesRow(this.costs, this.row, times);
      let total = 0;
      for (let i = 0; i < size; i++) total += alike[i] * costs[truth[i]][this.decided(i, times)];
      return total / n;
    });
  }
}

const TIMES_AXIS = "how many times as much mistakes on it cost";

function foundChart(state, follow) {
  // as many colours as there are, then the same ones dashed
  const mark = (j) => `c${j % 8}${j >= 8 ? " dashed" : ""}`;
  return new Chart({
    title: "How much of each class is found",
    x: TIMES_AXIS, y: "share taken for what it is",
    along: TIMES, yRange: unit, yTick: asPercent, ratio: 0.7, follow, uses: ["costs"],
    base: (chart) => {
      const { when, found } = state.along;
      for (let j = k - 1; j >= 0; j--) {
        if (perClass[j]) chart.steps(when, [1, MOST_TIMES], (e) => found[j][e] / perClass[j], mark(j));
      }
    },
    moving: (chart) => {
      chart.cursor(state.times);
      names.forEach((_, j) => chart.dot(state.times, state.along.rate(j, state.times), mark(j), 4));
      chart.explain(names.map((name, j) => [mark(j), name, percent(state.along.rate(j, state.times))]));
    },
    describe: () => `Share of each class that is taken for what it is, where mistakes on ${names[state.row]} cost ${say(state.times)} times as much: ${names.map((name, j) => `${name} ${percent(state.along.rate(j, state.times))}`).join(", ")}.`,
  });
}

function timesCostChart(state, follow) {
  const intervals = 80; // enough for a smooth curve
  const points = Array.from({ length: intervals + 1 }, (_, p) => TIMES.at(p / intervals));
  const costsAt = (times) => timesRow(state.costs, state.row, times);
  const now = () => outcome(state.effective, state.decided).mean;
  let [model, blind] = [[], []];
  return new Chart({
    title: "What this costs per case",
    x: TIMES_AXIS, y: "cost per case",
    along: TIMES, ratio: 0.7, follow, uses: ["costs"],
    yRange: () => {
      model = state.along.curve(points);
      blind = points.map((times) => withoutLooking(costsAt(times)).cost);
      const [low, high] = extent([...model, ...blind]);
      return [Math.min(0, low), high > 0 ? 1.06 * high : 1];
    },
    base: (chart) => {
      chart.line(points.map((times, p) => [times, blind[p]]), "faint dashed");
      chart.line(points.map((times, p) => [times, model[p]]), "cost");
    },
    moving: (chart) => {
      const same = withoutLooking(state.effective);
      chart.cursor(state.times);
      chart.dot(state.times, now(), "cost");
      chart.explain([["cost", "this model", say(now())], ["faint dashed", `without looking, all ${same.name}`, say(same.cost)]]);
    },
    note: "Costs of the other mistakes stay as they are in the table of costs.",
    describe: () => `Cost per case of this model and of deciding without looking. At ${say(state.times)} times: ${say(now())} and ${say(withoutLooking(state.effective).cost)}.`,
  });
}
