// Charts of two classes. Each is a function of the page's state, kept in `model` (binary.js).

/** Pieces that decide how high a chart has to be: close to τ = 0 and 1 one class is given up. */
function inView(model, look) {
  for (let k = 0; k < model.pieces; k++) {
    if (model.edge(k + 1) >= 0.03 && model.edge(k) <= 0.97) look(k);
  }
}

/** True positives, true negatives and accuracy over τ: the paper's Figure 2. */
function ratesChart(model) {
  const { edge, pieces } = model;
  const rates = [
    ["positive", "found (TPR)", (k) => model.tpr(k)],
    ["negative", "cleared (TNR)", (k) => model.tnr(k)],
    ["ink", "right (accuracy)", (k) => model.accuracy(k)],
  ];
  return new Chart({
    title: "Rates along τ", ratio: 0.74, uses: ["prevalence"],
    x: "τ", y: "share", yTick: asPercent, xRange: unit, follow: model.setTau,
    yRange: () => {
      let low = 1;
      inView(model, (k) => rates.forEach(([, , rate]) => (low = Math.min(low, rate(k)))));
      return [Math.max(0, Math.floor(low * 10 - 1e-9) / 10), 1];
    },
    base: (chart) => rates.forEach(([mark, , rate]) => chart.steps(pieces, edge, rate, mark)),
    moving: (chart) => {
      chart.cursor(model.tau);
      rates.forEach(([mark, , rate]) => chart.dot(model.tau, rate(model.piece), mark));
      chart.explain(rates.map(([mark, name, rate]) => [mark, name, percent(rate(model.piece))]));
    },
    describe: () => `Steps over τ from 0 to 1. At τ = ${say(model.tau)} the true positive rate is ${percent(model.tpr(model.piece))}, the true negative rate ${percent(model.tnr(model.piece))}, accuracy ${percent(model.accuracy(model.piece))}.`,
  });
}

/** What every τ would cost at the present costs. */
function costChart(model) {
  return new Chart({
    title: "What every τ would cost you", class: "strip", ratio: 0.15, uses: ["costs", "prevalence"],
    x: "τ", y: "expected cost per case", xRange: unit, follow: model.setTau,
    yRange: () => {
      let high = 0;
      inView(model, (k) => (high = Math.max(high, model.cost(k))));
      return [0, 1.3 * high || 1];
    },
    base: (chart) => chart.steps(model.pieces, model.edge, model.cost, "cost"),
    moving: (chart) => {
      chart.cursor(model.tau);
      chart.diamond(model.best.tau, model.best.cost, "best");
      chart.dot(model.tau, model.cost(model.piece), "cost");
      chart.explain([
        ["cost", "now", say(model.cost(model.piece))],
        ["best", "least", `${say(model.best.cost)} at τ = ${say(model.best.tau)}`, "diamond"],
      ]);
    },
    describe: () => `Expected cost over τ at the present costs. It is ${say(model.cost(model.piece))} at τ = ${say(model.tau)} and least, ${say(model.best.cost)}, at τ = ${say(model.best.tau)}.`,
  });
}

/** ROC: all pairs of rates, and the line of equal cost through the best. */
function rocChart(model) {
  const fpr = (k) => 1 - model.tnr(k);
  return new Chart({
    title: "ROC curve",
    x: "false alarms among " + model.names[0], y: "found among " + model.names[1],
    xTick: asPercent, yTick: asPercent, xRange: unit, yRange: unit, ratio: 0.74,
    base: (chart) => {
      chart.line([[0, 0], [1, 1]], "faint dashed");
      const points = [];
      for (let k = 0; k < model.pieces; k++) {
        const point = [fpr(k), model.tpr(k)];
        const last = points[points.length - 1];
        if (!last || last[0] !== point[0] || last[1] !== point[1]) points.push(point);
      }
      chart.line(points, "positive");
    },
    moving: (chart) => {
      const { best } = model;
      // costs are equal along cost_fp (1 - π) FPR - cost_fn π TPR = constant
      const slope = (model.costFp * (1 - model.prevalence)) / (model.costFn * model.prevalence);
      if (Number.isFinite(slope)) {
        const through = (x) => model.tpr(best.piece) + slope * (x - fpr(best.piece));
        chart.line([[0, through(0)], [1, through(1)]], "faint");
      }
      chart.diamond(fpr(best.piece), model.tpr(best.piece), "best");
      chart.dot(fpr(model.piece), model.tpr(model.piece), "positive", 5.5);
      chart.explain([
        ["positive", "now", `${percent(model.tpr(model.piece))} found, ${percent(fpr(model.piece))} false alarms`, "dot"],
        ["best", "least cost", "", "diamond"],
        ["faint", "equal cost", ""],
      ]);
    },
    describe: () => `True positive rate against false positive rate for every τ. Now ${percent(model.tpr(model.piece))} against ${percent(fpr(model.piece))}.`,
  });
}

/** Decision curve: net benefit in true positives per case (Vickers and Elkin 2006). */
function benefitChart(model) {
  const odds = (tau) => tau / (1 - tau);
  const all = (tau) => model.prevalence - odds(tau) * (1 - model.prevalence);
  const LAST = 0.995;
  return new Chart({
    title: "Decision curve", ratio: 0.74, uses: ["prevalence"],
    x: "τ, read as threshold probability", y: "net benefit", xRange: unit, follow: model.setTau,
    yRange: () => {
      let high = Math.max(model.prevalence, 1e-3);
      let low = 0;
      for (let k = 0; k < model.pieces; k++) {
        const tau = Math.min(model.edge(k), LAST);
        high = Math.max(high, model.benefit(k, tau));
        low = Math.min(low, model.benefit(k, Math.min(model.edge(k + 1), LAST)));
      }
      return [Math.min(-0.12 * high, Math.max(1.1 * low, -0.5 * high)), 1.08 * high];
    },
    base: (chart) => {
      const grid = Array.from({ length: 200 }, (_, k) => (k / 199) * LAST);
      chart.line(grid.map((tau) => [tau, all(tau)]), "faint");
      chart.line([[0, 0], [1, 0]], "faint dashed");
      const points = [];
      const stride = Math.max(1, Math.floor(model.pieces / 4000));
      for (let k = 0; k < model.pieces; k += stride) {
        const [from, to] = [model.edge(k), Math.min(model.edge(k + 1), LAST)];
        if (from >= LAST) break;
        // within a piece benefit bends with the odds: drawn finely
        const n = Math.max(1, Math.ceil(60 * (to - from)));
        for (let j = 0; j <= n; j++) {
          const tau = from + (j / n) * (to - from);
          points.push([tau, model.benefit(k, tau)]);
        }
      }
      chart.line(points, "benefit");
    },
    moving: (chart) => {
      const now = model.benefit(model.piece, model.tau);
      chart.cursor(model.tau);
      if (model.tau <= LAST) chart.dot(model.tau, now, "benefit");
      chart.explain([
        ["benefit", "this model", say(now)],
        ["faint", `everything is ${model.names[1]}`, say(all(model.tau))],
        ["faint dashed", "nothing is", "0"],
      ]);
    },
    describe: () => `Net benefit over τ. At τ = ${say(model.tau)} it is ${say(model.benefit(model.piece, model.tau))}; if everything were taken for ${model.names[1]}, ${say(all(model.tau))}.`,
  });
}

/** The boundary over two features, at the present τ. */
function boundaryChart(model, boundary) {
  const { low, high, size } = boundary;
  const functions = boundary.functions && new LowRank(boundary.functions);
  const proba = boundary.proba && unpack(boundary.proba);
  const points = unpack(boundary.points);
  const positive = unpack(boundary.positive);
  const field = new Float64Array(size * size);
  const at = (row, column) => field[row * size + column];

  /** f_τ on the grid; or probability less τ, where that decides. */
  function evaluate(tau) {
    for (let i = 0; i < field.length; i++) field[i] = functions ? functions.value(i, tau) : proba[i] - tau;
  }

  /** Marching squares: in each cell, the part with f ≥ 0 and the line between. */
  function trace(chart) {
    const X = (column) => chart.X(low[0] + (column / (size - 1)) * (high[0] - low[0]));
    const Y = (row) => chart.Y(low[1] + (row / (size - 1)) * (high[1] - low[1]));
    const inside = [];
    const line = [];
    for (let r = 0; r + 1 < size; r++) {
      let run = -1; // where a run of cells that are positive as a whole began
      for (let c = 0; c <= size - 1; c++) {
        const last = c === size - 1;
        const corners = last ? null : [[r, c], [r, c + 1], [r + 1, c + 1], [r + 1, c]];
        const values = last ? null : corners.map(([i, j]) => at(i, j));
        const whole = !last && values.every((f) => f >= 0);
        if (whole) {
          if (run < 0) run = c;
          continue;
        }
        if (run >= 0) {
          inside.push(`M${X(run).toFixed(1)} ${Y(r).toFixed(1)}H${X(c).toFixed(1)}V${Y(r + 1).toFixed(1)}H${X(run).toFixed(1)}Z`);
          run = -1;
        }
        if (last || values.every((f) => f < 0)) continue;
        const outline = [];
        const cuts = [];
        for (let k = 0; k < 4; k++) {
          const [f, g] = [values[k], values[(k + 1) % 4]];
          const [[i, j], [p, q]] = [corners[k], corners[(k + 1) % 4]];
          if (f >= 0) outline.push([X(j), Y(i)]);
          if ((f >= 0) !== (g >= 0)) {
            const part = f / (f - g);
            const cut = [X(j + part * (q - j)), Y(i + part * (p - i))];
            outline.push(cut);
            cuts.push(cut);
          }
        }
        const draw = (list) => list.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
        inside.push(`${draw(outline)}Z`);
        for (let k = 0; k + 1 < cuts.length; k += 2) line.push(draw([cuts[k], cuts[k + 1]]));
      }
    }
    return [inside.join(""), line.join("")];
  }

  const mistakes = () => {
    if (!boundary.carried) return [];
    return Array.from(positive.keys()).filter((i) => model.cases.decided(i, model.tau) !== positive[i]);
  };
  let ground;
  return new Chart({
    title: "Decision boundary",
    x: boundary.names[0], y: boundary.names[1], ratio: 0.74,
    xRange: () => [low[0], high[0]], yRange: () => [low[1], high[1]],
    note: `Drawn from a ${size} × ${size} grid${functions ? ` of f, off by at most ${say(100 * functions.error, 2)} % of its range` : " of probabilities"}. Whether a case is on the right side is decided exactly.`,
    base: (chart) => {
      ground = chart.add("g", { class: "ground" });
      for (let i = 0; i < positive.length; i++) {
        const [x, y] = [chart.X(points[2 * i]), chart.Y(points[2 * i + 1])];
        if (positive[i]) chart.add("rect", { x: x - 2.6, y: y - 2.6, width: 5.2, height: 5.2, class: "case positive" });
        else chart.add("circle", { cx: x, cy: y, r: 2.8, class: "case negative" });
      }
    },
    moving: (chart) => {
      evaluate(model.tau);
      const [inside, line] = trace(chart);
      ground.replaceChildren(shape("path", { d: inside, class: "inside" }));
      chart.add("path", { d: line, class: "line ink" });
      const wrong = mistakes();
      for (const i of wrong) chart.dot(points[2 * i], points[2 * i + 1], "wrong", 6);
      chart.explain([
        ["positive", model.names[1], "", "square"],
        ["negative", model.names[0], "", "dot"],
        ...(boundary.carried ? [["wrong", "mistaken", sayCount(wrong.length), "dot"]] : []),
      ]);
    },
    describe: () => `Boundary between ${model.names[0]} and ${model.names[1]} over ${boundary.names[0]} and ${boundary.names[1]} at τ = ${say(model.tau)}.`,
  });
}
