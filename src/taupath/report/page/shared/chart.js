// Charts: small SVG drawings that are redrawn when their width changes.

/** Round numbers that divide a range, about as many as asked for. */
function roundTicks([low, high], about) {
  if (!(high > low)) return [low];
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
    found.push(Number((k * step).toPrecision(12)));
  }
  return found;
}

// Pixels. Heights beyond these limits are too flat to read, or fill the screen.
const [LEAST_HEIGHT, MOST_HEIGHT] = [170, 420];
const MARGIN = { top: 8, right: 10, bottom: 38 };
// Left of the axis: the label, a gap, and so much for each character of the longest tick.
const [LABEL_WIDTH, CHARACTER_WIDTH] = [28, 6.3];
// Charts narrower than this have room for half the ticks only.
const NARROW = 420;

/**
 * One chart: a title, a legend that also gives the numbers at the present τ, and a drawing.
 *
 * title, note, class; extra: a node below the title
 * x, y: labels of the axes; x may be a function
 * xRange, yRange: functions that return both ends; xRange is [0, 1] by default
 * along: the scale of x, in place of xRange
 * xTick, yTick: from a number to its text
 * ratio: height divided by width
 * follow: called with x where the pointer is pressed
 * base(chart): draws what changes rarely; uses: names of the settings, besides the width, that it depends on
 * moving(chart): draws what follows τ; describe(): the chart in a sentence
 */
class Chart {
  constructor(options) {
    this.options = options;
    const title = freshId("title");
    const text = freshId("text");
    this.legend = element("ul", { class: "legend" });
    this.description = shape("desc", { id: text });
    this.svg = shape(
      "svg",
      { role: "img", "aria-labelledby": `${title} ${text}`, class: options.follow ? "follow" : "" },
      this.description,
    );
    this.frame = element("div", { class: "plot" }, this.svg);
    this.node = element(
      "figure",
      { class: `chart card ${options.class ?? ""}` },
      element("figcaption", {}, element("h3", { id: title }, options.title)),
      options.extra ?? null,
      this.legend,
      this.frame,
      options.note ? element("p", { class: "note" }, options.note) : null,
    );
    this.width = 0;
    new ResizeObserver(() => this.resize()).observe(this.frame);
    if (options.follow) this.listen();
  }

  resize() {
    const width = Math.round(this.frame.clientWidth);
    if (width === 0 || width === this.width) return;
    this.width = width;
    this.draw();
  }

  /** Draw everything again: the width, or what the curves are made of, has changed. */
  draw() {
    if (this.width === 0) return;
    const { options } = this;
    this.height = Math.round(clamp(this.width * options.ratio, LEAST_HEIGHT, MOST_HEIGHT));
    this.xRange = options.xRange?.() ?? [0, 1];
    this.yRange = options.yRange();
    this.scale = options.along ?? evenScale(this.xRange);
    this.left = LABEL_WIDTH + CHARACTER_WIDTH * Math.max(...this.yTicks().map((tick) => this.sayY(tick).length), 2);
    this.right = this.width - MARGIN.right;
    this.top = MARGIN.top;
    this.bottom = this.height - MARGIN.bottom;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    const clip = freshId("clip");
    this.baseLayer = shape("g", { "clip-path": `url(#${clip})` });
    this.movingLayer = shape("g", { "clip-path": `url(#${clip})` });
    const room = shape(
      "clipPath",
      { id: clip },
      shape("rect", {
        x: this.left - 1, y: this.top - 4,
        width: this.right - this.left + 2, height: this.bottom - this.top + 8,
      }),
    );
    this.svg.replaceChildren(this.description, room, this.axes(), this.baseLayer, this.movingLayer);
    this.layer = this.baseLayer;
    options.base(this);
    this.move();
  }

  /** Draw what follows τ. */
  move() {
    if (this.width === 0) return;
    this.movingLayer.replaceChildren();
    this.layer = this.movingLayer;
    this.options.moving?.(this);
    this.description.textContent = this.options.describe?.() ?? "";
  }

  X(x) {
    return this.left + this.scale.position(x) * (this.right - this.left);
  }

  Y(y) {
    return this.bottom - ((y - this.yRange[0]) / (this.yRange[1] - this.yRange[0])) * (this.bottom - this.top);
  }

  place(x, y) {
    return `${this.X(x).toFixed(2)} ${this.Y(y).toFixed(2)}`;
  }

  yTicks() {
    return roundTicks(this.yRange, 5);
  }

  /** Ticks of the scale; where there is no room for all of them, every other one, with the middle one. */
  xTicks() {
    const narrow = this.width < NARROW;
    const own = this.scale.ticks;
    if (!own.length) return roundTicks(this.xRange, narrow ? 4 : 6).map((tick) => [tick, (this.options.xTick ?? say)(tick)]);
    return own.length > 5 && narrow ? own.filter((_, k) => (k - (own.length - 1) / 2) % 2 === 0) : own;
  }

  sayY(tick) {
    return (this.options.yTick ?? say)(tick);
  }

  axes() {
    const { left, right, top, bottom, options } = this;
    const group = shape("g", { class: "axes", "aria-hidden": "true" });
    for (const tick of this.yTicks()) {
      const y = this.Y(tick);
      group.append(
        shape("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }),
        shape("text", { x: left - 6, y: y + 3.5, "text-anchor": "end" }, this.sayY(tick)),
      );
    }
    for (const [tick, text] of this.xTicks()) {
      const x = this.X(tick);
      const anchor = x > right - 12 ? "end" : x < left + 8 && left < 24 ? "start" : "middle";
      group.append(
        shape("line", { class: "tick", x1: x, x2: x, y1: bottom, y2: bottom + 4 }),
        shape("text", { x, y: bottom + 16, "text-anchor": anchor }, text),
      );
    }
    group.append(
      shape("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
      shape("text", { class: "label", x: (left + right) / 2, y: this.height - 5, "text-anchor": "middle" }, typeof options.x === "function" ? options.x() : options.x),
      shape("text", {
        class: "label", "text-anchor": "middle",
        transform: `translate(11 ${(top + bottom) / 2}) rotate(-90)`,
      }, options.y),
    );
    return group;
  }

  // -- marks, drawn on the present layer --------------------------------------------------------

  add(name, attributes) {
    const mark = shape(name, attributes);
    this.layer.append(mark);
    return mark;
  }

  /** A line through points [x, y]. */
  line(points, mark) {
    const d = points.map(([x, y], k) => `${k ? "L" : "M"}${this.place(x, y)}`).join("");
    return this.add("path", { d, class: `line ${mark}` });
  }

  /**
   * Steps from `first` to `last`: value(k) after k of the places `when`, which are in order. Where there are more
   * steps than can be seen, the least, the largest and the last one of each pixel are drawn.
   */
  steps(when, [first, last], value, mark) {
    const points = [];
    const n = when.length + 1;
    const edge = (k) => (k === 0 ? first : k === n ? last : when[k - 1]);
    const put = (x, y) => {
      const before = points.at(-1);
      if (before && before[0] === x && before[1] === y) return;
      if (before && before[1] !== y) points.push([x, before[1]]);
      points.push([x, y]);
    };
    const pixel = (k) => Math.floor(this.X(edge(k)));
    for (let k = 0; k < n; ) {
      const from = k;
      let [low, high] = [value(k), value(k)];
      do {
        [low, high] = [Math.min(low, value(k)), Math.max(high, value(k))];
        k += 1;
      } while (n > 4 * this.width && k < n && pixel(k) === pixel(from));
      for (const y of [low, high, value(k - 1)]) put(edge(from), y);
    }
    points.push([edge(n), value(n - 1)]);
    return this.line(points, mark);
  }

  /** An area between two lines over the same places. */
  band(xs, low, high, mark) {
    const there = xs.map((x, k) => `${k ? "L" : "M"}${this.place(x, high[k])}`).join("");
    const back = xs.map((x, k) => `L${this.place(x, low[k])}`).reverse().join("");
    return this.add("path", { d: `${there}${back}Z`, class: `band ${mark}` });
  }

  /** A curve y(τ), computed at every pixel. */
  curve(y, mark) {
    return this.line(this.pixels().map((tau) => [tau, y(tau)]), mark);
  }

  /** One τ for each pixel. */
  pixels() {
    const steps = Math.max(1, Math.round(this.right - this.left));
    return Array.from({ length: steps + 1 }, (_, k) => this.scale.at(k / steps));
  }

  /** A dot, where there is a number to draw. */
  dot(x, y, mark, r = 4.5) {
    if (!Number.isFinite(y)) return null;
    return this.add("circle", { cx: this.X(x).toFixed(2), cy: this.Y(y).toFixed(2), r, class: `dot ${mark}` });
  }

  diamond(x, y, mark) {
    const [cx, cy] = [this.X(x), this.Y(y)];
    return this.add("path", { d: `M${cx} ${cy - 6.5}l5.5 6.5l-5.5 6.5l-5.5 -6.5Z`, class: `dot ${mark}` });
  }

  /** A vertical line at x: where τ is. */
  cursor(x) {
    const at = this.X(x).toFixed(2);
    return this.add("line", { x1: at, x2: at, y1: this.top - 4, y2: this.bottom, class: "cursor" });
  }

  // -- legend and pointer -----------------------------------------------------------------------

  /** Name the marks in the legend, with their values at the present τ: [mark, name, value, kind]. */
  explain(entries) {
    const named = entries.map(([mark, name]) => `${mark} ${name}`).join("\n");
    if (this.named !== named) {
      this.named = named;
      this.legend.replaceChildren(
        ...entries.map(([mark, name, , kind]) =>
          element(
            "li",
            {},
            key(mark, kind),
            element("span", { class: "name", title: name }, name),
            element("span", { class: "value" }),
          ),
        ),
      );
    }
    entries.forEach(([, , value], k) => {
      this.legend.children[k].lastElementChild.textContent = value ?? "";
    });
  }

  listen() {
    let pressed = false;
    const tell = (event) => {
      const box = this.svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * this.width;
      const part = clamp((x - this.left) / (this.right - this.left), 0, 1);
      this.options.follow(this.scale.rounded(part));
    };
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      pressed = true;
      this.svg.setPointerCapture(event.pointerId);
      tell(event);
    });
    this.svg.addEventListener("pointermove", (event) => pressed && tell(event));
    for (const name of ["pointerup", "pointercancel"]) {
      this.svg.addEventListener(name, () => (pressed = false));
    }
  }
}

// The sign of each kind of mark in a legend: its shape and class.
const KEYS = {
  line: ["path", "line", { d: "M1 6H21" }],
  dot: ["circle", "dot", { cx: 11, cy: 6, r: 4.5 }],
  diamond: ["path", "dot", { d: "M11 0l5 6l-5 6l-5 -6Z" }],
  square: ["rect", "dot", { x: 7, y: 2, width: 8, height: 8 }],
  band: ["rect", "band", { x: 1, y: 1, width: 20, height: 10 }],
};

function key(mark, kind = "line") {
  const [name, own, attributes] = KEYS[kind];
  return shape("svg", { class: "key", viewBox: "0 0 22 12", "aria-hidden": "true" },
    shape(name, { ...attributes, class: `${own} ${mark}` }));
}

/** Redraw charts after some settings have changed: as a whole if they depend on them, else what follows τ. */
function refresh(charts, changed) {
  for (const chart of charts) {
    if (chart.options.uses?.some((setting) => changed.has(setting))) chart.draw();
    else chart.move();
  }
}
