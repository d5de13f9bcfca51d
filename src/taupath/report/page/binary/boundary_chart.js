// Two classes over two features.

/** The boundary between them at the τ that decides, and the cases. */
function boundaryChart(state, boundary) {
  const { low, high, size } = boundary;
  const functions = boundary.functions && new LowRank(boundary.functions);
  const { proba, points, positive: ofPositive } = unpackAll(boundary);
  const field = new Float64Array(size * size);
  const at = (row, column) => field[row * size + column];

  /** f_τ on the grid, or the probability minus τ where that decides. */
  function evaluate(tau) {
    for (let i = 0; i < field.length; i++) field[i] = functions ? functions.value(i, tau) : proba[i] - tau;
  }

  /** Marching squares: the outlines of the part with f ≥ 0, cell by cell, and the line where f = 0. */
  function trace(chart) {
    const X = (column) => chart.X(low[0] + (column / (size - 1)) * (high[0] - low[0]));
    const Y = (row) => chart.Y(low[1] + (row / (size - 1)) * (high[1] - low[1]));
    const draw = (list) => list.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    const inside = [];
    const line = [];
    for (let r = 0; r + 1 < size; r++) {
      let run = -1; // where a run of cells with f ≥ 0 throughout began
      for (let c = 0; c < size; c++) {
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
        inside.push(`${draw(outline)}Z`);
        for (let k = 0; k + 1 < cuts.length; k += 2) line.push(draw([cuts[k], cuts[k + 1]]));
      }
    }
    return [inside.join(""), line.join("")];
  }

  const mistakes = () => {
    if (!boundary.carried) return [];
    return Array.from(ofPositive.keys()).filter((i) => cases.decided(i, state.decides) !== ofPositive[i]);
  };
  let ground;
  return new Chart({
    title: "Decision boundary",
    x: boundary.names[0], y: boundary.names[1], ratio: 0.74,
    xRange: () => [low[0], high[0]], yRange: () => [low[1], high[1]],
    note: `Drawn from a ${size} × ${size} grid${functions ? ` of f, ${sayOff(functions, "its")}` : " of probabilities"}. Whether a case is on the right side is decided exactly.`,
    base: (chart) => {
      ground = chart.add("g", { class: "ground" });
      for (let i = 0; i < ofPositive.length; i++) {
        const [x, y] = [chart.X(points[2 * i]), chart.Y(points[2 * i + 1])];
        if (ofPositive[i]) chart.add("rect", { x: x - 2.6, y: y - 2.6, width: 5.2, height: 5.2, class: "case positive" });
        else chart.add("circle", { cx: x, cy: y, r: 2.8, class: "case negative" });
      }
    },
    moving: (chart) => {
      evaluate(state.decides);
      const [inside, line] = trace(chart);
      ground.replaceChildren(shape("path", { d: inside, class: "inside" }));
      chart.add("path", { d: line, class: "line ink" });
      const wrong = mistakes();
      for (const i of wrong) chart.dot(points[2 * i], points[2 * i + 1], "wrong", 6);
      chart.explain([
        ["positive", positive, "", "square"],
        ["negative", negative, "", "dot"],
        ...(boundary.carried ? [["wrong", "misclassified", sayCount(wrong.length), "dot"]] : []),
      ]);
    },
    describe: () => `Boundary between ${negative} and ${positive} over ${boundary.names[0]} and ${boundary.names[1]} at τ = ${say(state.decides)}.`,
  });
}
