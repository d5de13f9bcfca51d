// What readers set values with: number fields, lists of choices, sliders.

// The largest cost and ratio of costs: sums and products of costs stay far from overflow.
const LARGEST_COST = 1e12;
const LARGEST_WORTH = 1e9;

/**
 * A field for a number. `take` is called with what was typed, if it is within the limits, and
 * returns what is wrong with it, or nothing.
 */
function numberField({ label, id, min, max, unit, hint = "", take }) {
  const said = freshId("hint");
  const input = element("input", {
    type: "number", id, step: "any", inputmode: "decimal", autocomplete: "off", min, max, "aria-describedby": said,
  });
  const note = element("span", { class: "hint", id: said }, hint);
  const complain = (message) => {
    if (message) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    note.textContent = message || hint;
    note.classList.toggle("wrong", message !== "");
  };
  input.addEventListener("input", () => {
    input.dataset.typing = "yes";
    const value = input.valueAsNumber;
    const fits = Number.isFinite(value) && value >= min && value <= max;
    complain(fits ? take(value) ?? "" : `a number from ${say(min)} to ${say(max)}`);
  });
  input.addEventListener("blur", () => delete input.dataset.typing);
  return {
    input,
    node: element(
      "div",
      { class: "field" },
      element("label", { for: id }, label),
      element("span", { class: "entry" }, input, unit ? element("span", { class: "unit" }, unit) : null),
      note,
    ),
    /** Show a value, unless the reader is typing another. */
    show(value, digits = 6) {
      if (document.activeElement === input && input.dataset.typing) return;
      input.value = String(Number(value.toPrecision(digits)));
      complain("");
    },
  };
}

/** A list of [value, text] to choose from. */
function choice(id, label, options, take) {
  const select = element(
    "select",
    { id, onchange: () => take(select.value) },
    ...options.map(([value, text]) => element("option", { value }, text)),
  );
  return {
    node: element("div", { class: "choice" }, element("label", { for: id }, label), select),
    show: (value) => (select.value = String(value)),
  };
}

/** A slider along a scale, moved by pointer or keys. */
class Slider {
  constructor(scale, take, attributes) {
    Object.assign(this, { scale, take });
    this.input = element("input", {
      type: "range", min: 0, max: 1, step: "any", ...attributes,
      oninput: () => take(scale.rounded(this.input.valueAsNumber)),
      onkeydown: (event) => this.press(event),
    });
    const tick = ([value, text]) => {
      const mark = element("span", {}, text);
      mark.style.setProperty("--at", scale.position(value));
      return mark;
    };
    this.node = element("div", { class: "rail" }, this.input,
      scale.ticks.length ? element("div", { class: "scale", "aria-hidden": "true" }, ...scale.ticks.map(tick)) : null);
  }

  press(event) {
    const { page, ends, move } = this.scale;
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: page, PageDown: -page };
    const stops = { Home: ends[0], End: ends[1] };
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in steps) this.take(neat(move(this.value, steps[event.key], event.shiftKey)));
    else if (event.key in stops) this.take(stops[event.key]);
    else return;
    event.preventDefault();
  }

  show(value, text) {
    const position = clamp(this.scale.position(value), 0, 1);
    this.value = value;
    this.input.value = String(position);
    this.input.style.setProperty("--at", position);
    this.input.setAttribute("aria-valuetext", text);
  }
}

/**
 * The slider of τ with a field for exact values, and buttons to the next τ where anything changes.
 *
 * low, high: what either end means; changes: all τ where predictions change, in order;
 * step: what changes there; take: called with τ.
 */
class TauControl {
  constructor({ label, low, high, changes, take, step, scale = EVEN }) {
    Object.assign(this, { changes, take });
    this.slider = new Slider(scale, take, { id: "tau", "aria-labelledby": "tau-label", "aria-describedby": "tau-help" });
    this.field = numberField({ label: "τ", id: "tau-field", min: 0, max: 1, take });
    const jump = (text, id, direction) => {
      const title = `To the ${id} τ where ${step}`;
      return button(text, () => this.jump(direction), { id, class: "quiet", "aria-label": title, title });
    };
    this.node = element(
      "div",
      { class: "tau" },
      element(
        "div",
        { class: "track" },
        element("label", { id: "tau-label", for: "tau" }, label),
        this.slider.node,
        element("div", { class: "ends", "aria-hidden": "true" }, element("span", {}, low), element("span", {}, high)),
        element("p", { class: "hidden", id: "tau-help" }, scale.help),
      ),
      element("div", { class: "exact" }, this.field.node,
        element("div", { class: "jumps" }, jump("‹", "previous", -1), jump("›", "next", 1))),
    );
  }

  /** Go to the middle of the next or previous interval of τ without any change inside. */
  jump(direction) {
    const { changes } = this;
    const edge = (k) => (k < 0 ? 0 : k >= changes.length ? 1 : changes[k]);
    const hairline = 1e-9; // narrower intervals come from rounding and are skipped
    let k = lowerBound(changes, this.slider.value);
    do k += direction;
    while (k > 0 && k < changes.length && edge(k) - edge(k - 1) < hairline);
    if (k < 0 || k > changes.length) return;
    this.take(0.5 * (edge(k - 1) + edge(k)));
  }

  show(tau, text) {
    this.slider.show(tau, text);
    this.field.show(tau);
  }
}
