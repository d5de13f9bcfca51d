// Charts: small SVG drawings that are redrawn when their width changes.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children. Text only ever becomes text nodes. */
function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

let nextId = 0;

function freshId(stem) {
  nextId += 1;
  return `${stem}-${nextId}`;
}

/** Round numbers that divide a range, about as many as asked for. */
function ticks([low, high], about) {
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

/**
 * One chart: a title, a legend that also tells the numbers at the present τ, and a drawing.
 *
 * options: title, note, x and y (labels), xRange and yRange (functions), xTick and yTick (how ticks
 * are said), along (a scale that x is placed by, with its ticks, in place of xRange),
 * ratio (height by width), follow (called with x where the pointer is pressed),
 * base(chart): what changes rarely, uses: what, besides the width, it is drawn from,
 * moving(chart): what follows τ, describe(): a sentence.
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
    const height = Math.round(clamp(this.width * (options.ratio ?? 0.62), 170, 420));
    this.height = height;
    this.xRange = options.xRange?.() ?? [0, 1];
    this.yRange = options.yRange();
    this.left = 12 + 6.3 * Math.max(...this.yTicks().map((tick) => this.sayY(tick).length), 2);
    this.left += 16;
    this.right = this.width - 10;
    this.top = 8;
    this.bottom = height - 38;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.baseLayer = shape("g", {});
    this.movingLayer = shape("g", {});
    const clip = freshId("clip");
    const room = shape(
      "clipPath",
      { id: clip },
      shape("rect", {
        x: this.left - 1, y: this.top - 4,
        width: this.right - this.left + 2, height: this.bottom - this.top + 8,
      }),
    );
    this.baseLayer.setAttribute("clip-path", `url(#${clip})`);
    this.movingLayer.setAttribute("clip-path", `url(#${clip})`);
    this.svg.replaceChildren(
      this.description, room, this.axes(), this.baseLayer, this.movingLayer,
    );
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
    const { along } = this.options;
    if (along) return this.left + along.position(x) * (this.right - this.left);
    return this.left + ((x - this.xRange[0]) / (this.xRange[1] - this.xRange[0])) * (this.right - this.left);
  }

  Y(y) {
    return this.bottom - ((y - this.yRange[0]) / (this.yRange[1] - this.yRange[0])) * (this.bottom - this.top);
  }

  place(x, y) {
    return `${this.X(x).toFixed(2)} ${this.Y(y).toFixed(2)}`;
  }

  yTicks() {
    return ticks(this.yRange, 5);
  }

  sayY(tick) {
    return (this.options.yTick ?? say)(tick);
  }

  axes() {
    const { left, right, top, bottom } = this;
    const group = shape("g", { class: "axes", "aria-hidden": "true" });
    for (const tick of this.yTicks()) {
      const y = this.Y(tick);
      group.append(
        shape("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }),
        shape("text", { x: left - 6, y: y + 3.5, "text-anchor": "end" }, this.sayY(tick)),
      );
    }
    const { along } = this.options;
    let marks = along ? along.ticks : ticks(this.xRange, this.width < 420 ? 4 : 6).map((tick) => [tick, (this.options.xTick ?? say)(tick)]);
    if (marks.length > 5 && this.width < 420) marks = marks.filter((_, k) => (k - (marks.length - 1) / 2) % 2 === 0);
    for (const [tick, text] of marks) {
      const x = this.X(tick);
      const anchor = x > right - 12 ? "end" : x < left + 8 && left < 24 ? "start" : "middle";
      group.append(
        shape("line", { class: "tick", x1: x, x2: x, y1: bottom, y2: bottom + 4 }),
        shape("text", { x, y: bottom + 16, "text-anchor": anchor }, text),
      );
    }
    group.append(
      shape("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
      shape("text", { class: "label", x: (left + right) / 2, y: this.height - 5, "text-anchor": "middle" }, this.options.x),
      shape("text", {
        class: "label", "text-anchor": "middle",
        transform: `translate(11 ${(top + bottom) / 2}) rotate(-90)`,
      }, this.options.y),
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
   * Steps: value(k) holds from edge(k) to edge(k + 1), for k below n. Where there are more steps
   * than can be seen, the first, least, largest and last one of each pixel are drawn.
   */
  steps(n, edge, value, mark) {
    const points = [];
    const put = (x, y) => {
      const last = points[points.length - 1];
      if (last && last[1] !== y) points.push([x, last[1]]);
      points.push([x, y]);
    };
    if (n <= 4 * this.width) {
      for (let k = 0; k < n; k++) put(edge(k), value(k));
      points.push([edge(n), value(n - 1)]);
    } else {
      let k = 0;
      while (k < n) {
        const pixel = Math.floor(this.X(edge(k)));
        const from = edge(k);
        let low = value(k);
        let high = low;
        let end = low;
        while (k < n && Math.floor(this.X(edge(k))) === pixel) {
          end = value(k);
          low = Math.min(low, end);
          high = Math.max(high, end);
          k += 1;
        }
        for (const y of [low, high, end]) put(from, y);
      }
      points.push([edge(n), value(n - 1)]);
    }
    return this.line(points, mark);
  }

  /** An area between two lines over the same places. */
  band(xs, low, high, mark) {
    const there = xs.map((x, k) => `${k ? "L" : "M"}${this.place(x, high[k])}`).join("");
    const back = xs.map((x, k) => `L${this.place(x, low[k])}`).reverse().join("");
    return this.add("path", { d: `${there}${back}Z`, class: `band ${mark}` });
  }

  /** A curve y(τ) along a scale, computed at every pixel. */
  curve(y, mark) {
    return this.line(this.pixels().map((tau) => [tau, y(tau)]), mark);
  }

  /** One τ for each pixel of a scale. */
  pixels() {
    const steps = Math.max(1, Math.round(this.right - this.left));
    return Array.from({ length: steps + 1 }, (_, k) => this.options.along.at(k / steps));
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
  cursor(x, mark = "cursor") {
    const at = this.X(x).toFixed(2);
    return this.add("line", { x1: at, x2: at, y1: this.top - 4, y2: this.bottom, class: mark });
  }

  // -- legend and pointer -----------------------------------------------------------------------

  /** Say what the marks are, and what they are at the present τ: [mark, name, value, kind]. */
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
      const { along } = this.options;
      this.options.follow(along ? along.tau(part) : this.xRange[0] + part * (this.xRange[1] - this.xRange[0]));
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

/** The sign of a mark in a legend. */
function key(mark, kind = "line") {
  const svg = shape("svg", { class: "key", viewBox: "0 0 22 12", "aria-hidden": "true" });
  if (kind === "dot") svg.append(shape("circle", { cx: 11, cy: 6, r: 4.5, class: `dot ${mark}` }));
  else if (kind === "diamond") svg.append(shape("path", { d: "M11 0l5 6l-5 6l-5 -6Z", class: `dot ${mark}` }));
  else if (kind === "square") svg.append(shape("rect", { x: 7, y: 2, width: 8, height: 8, class: `dot ${mark}` }));
  else if (kind === "band") svg.append(shape("rect", { x: 1, y: 1, width: 20, height: 10, class: `band ${mark}` }));
  else svg.append(shape("path", { d: "M1 6H21", class: `line ${mark}` }));
  return svg;
}
