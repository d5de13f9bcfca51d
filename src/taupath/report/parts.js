// Parts that all pages have: fields, the slider of τ, tables, colours, and where the model is from.

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");

// -- saying things aloud ------------------------------------------------------------------------

const spoken = element("p", { class: "hidden", "aria-live": "polite", "aria-atomic": "true", id: "spoken" });
let waiting = 0;

/** Tell screen readers, once things have come to rest. */
function announce(text) {
  clearTimeout(waiting);
  waiting = setTimeout(() => (spoken.textContent = text), 500);
}

// -- fields -------------------------------------------------------------------------------------

/** A field for a number. `take` is called with what was typed, if it is within the limits. */
function numberField({ label, id, min = -Infinity, max = Infinity, unit, hint, take }) {
  const said = freshId("hint");
  const input = element("input", {
    type: "number", id, step: "any", inputmode: "decimal", autocomplete: "off",
    min: Number.isFinite(min) ? min : null, max: Number.isFinite(max) ? max : null,
    "aria-describedby": said,
  });
  const note = element("span", { class: "hint", id: said }, hint ?? "");
  const field = {
    input,
    node: element(
      "div",
      { class: "field" },
      element("label", { for: id }, label),
      element("span", { class: "entry" }, input, unit ? element("span", { class: "unit" }, unit) : null),
      note,
    ),
    /** Show a value, but never under the hands of who is typing. */
    show(value, digits = 6) {
      if (document.activeElement !== input || !input.dataset.typing) {
        input.value = String(Number(value.toPrecision(digits)));
        field.valid();
      }
    },
    valid(message = "") {
      input.toggleAttribute("aria-invalid", message !== "");
      if (message) input.setAttribute("aria-invalid", "true");
      note.textContent = message || (hint ?? "");
      note.classList.toggle("wrong", message !== "");
    },
    hint(text) {
      hint = text;
      field.valid();
    },
  };
  input.addEventListener("input", () => {
    input.dataset.typing = "yes";
    const value = input.valueAsNumber;
    const fits = Number.isFinite(value) && value >= min && value <= max;
    field.valid(fits ? "" : limits(min, max));
    if (fits) field.valid(take(value) ?? "");
  });
  input.addEventListener("blur", () => delete input.dataset.typing);
  return field;
}

function limits(min, max) {
  if (Number.isFinite(min) && Number.isFinite(max)) return `a number from ${say(min)} to ${say(max)}`;
  return Number.isFinite(min) ? `a number, ${say(min)} or more` : "a number";
}

function button(text, action, attributes = {}) {
  return element("button", { type: "button", onclick: action, ...attributes }, text);
}

function choice(label, options, take, attributes = {}) {
  const id = freshId("choice");
  const select = element(
    "select",
    { id, ...attributes },
    ...options.map(([value, text]) => element("option", { value }, text)),
  );
  select.addEventListener("change", () => take(select.value));
  return element("div", { class: "choice" }, element("label", { for: id }, label), select);
}

/**
 * The slider of τ with a field for exact values, and buttons to the next τ where anything changes.
 *
 * take: called with τ; changes: all τ where predictions change, in order; step: what changes there;
 * scale: where each τ is on the slider, how far keys move it, and its ticks as [τ, text].
 */
class TauControl {
  constructor({ label, low, high, changes, take, step, scale = EVEN }) {
    this.changes = changes;
    this.take = take;
    this.scale = scale;
    this.slider = element("input", {
      type: "range", id: "tau", min: 0, max: 1, step: "any", "aria-labelledby": "tau-label",
      "aria-describedby": "tau-help",
    });
    this.slider.addEventListener("input", () => take(scale.tau(this.slider.valueAsNumber)));
    this.slider.addEventListener("keydown", (event) => this.press(event));
    this.field = numberField({ label: "τ", id: "tau-field", min: 0, max: 1, take });
    const tick = ([tau, text]) => {
      const mark = element("span", {}, text);
      mark.style.setProperty("--at", scale.position(tau));
      return mark;
    };
    this.node = element(
      "div",
      { class: "tau" },
      element(
        "div",
        { class: "track" },
        element("label", { id: "tau-label", for: "tau" }, label),
        element("div", { class: "rail" }, this.slider,
          scale.ticks.length ? element("div", { class: "scale", "aria-hidden": "true" }, ...scale.ticks.map(tick)) : null),
        element("div", { class: "ends", "aria-hidden": "true" }, element("span", {}, low), element("span", {}, high)),
        element("p", { class: "hidden", id: "tau-help" }, scale.help),
      ),
      element(
        "div",
        { class: "exact" },
        this.field.node,
        element(
          "div",
          { class: "jumps" },
          button("‹", () => this.jump(-1), { id: "previous", class: "quiet", "aria-label": `To the previous τ where ${step}`, title: `To the previous τ where ${step}` }),
          button("›", () => this.jump(1), { id: "next", class: "quiet", "aria-label": `To the next τ where ${step}`, title: `To the next τ where ${step}` }),
        ),
      ),
    );
  }

  press(event) {
    const { scale } = this;
    const steps = {
      ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: scale.page, PageDown: -scale.page,
    };
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    let to = null;
    if (event.key in steps) to = Number(scale.move(this.tau, steps[event.key], event.shiftKey).toPrecision(12));
    else if (event.key === "Home") [to] = scale.ends;
    else if (event.key === "End") [, to] = scale.ends;
    if (to === null) return;
    event.preventDefault();
    this.take(to);
  }

  /** Go to the middle of the next stretch, or the previous one, without any change inside. */
  jump(direction) {
    const { changes } = this;
    const edge = (k) => (k < 0 ? 0 : k >= changes.length ? 1 : changes[k]);
    let k = lowerBound(changes, this.tau);
    do k += direction;
    while (k > 0 && k < changes.length && edge(k) - edge(k - 1) < 1e-9);
    if (k < 0 || k > changes.length) return;
    this.take(0.5 * (edge(k - 1) + edge(k)));
  }

  show(tau, text) {
    const position = clamp(this.scale.position(tau), 0, 1);
    this.tau = tau;
    this.slider.value = String(position);
    this.slider.style.setProperty("--at", position);
    this.slider.setAttribute("aria-valuetext", text);
    this.field.show(tau);
  }
}

// -- tables and sections ------------------------------------------------------------------------

function section(id, title, ...content) {
  return element("section", { id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, title), ...content);
}

/** Charts side by side, such that rows are full. */
function chartGrid(charts) {
  const across = charts.length % 3 === 0 ? "three" : "two";
  return element("div", { class: `grid ${across}` }, ...charts.map((chart) => chart.node));
}

/** A table that scrolls by itself where it is wide. heads: [text, numeric]. */
function table(caption, heads, rows, id) {
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption, id },
    element(
      "table",
      {},
      element("caption", { class: "hidden" }, caption),
      element("thead", {}, headRow(heads)),
      element("tbody", {}, ...rows.map((row) => tableRow(row, heads))),
    ),
  );
}

function headRow(heads) {
  return element("tr", {}, ...heads.map(([text, numeric]) =>
    element("th", { scope: "col", class: numeric ? "number" : "" }, text)));
}

function tableRow(row, heads) {
  return element("tr", {}, ...row.map((cell, k) =>
    element("td", { class: heads[k][1] ? "number" : "" }, cell)));
}

/** How the model came about, and what vouches for it. */
function originSection() {
  const parts = [];
  if (data.provenance.length) {
    parts.push(element("div", { class: "card" },
      element("h3", {}, "How the model was trained"),
      element("dl", { class: "facts" }, ...data.provenance.flatMap(([name, value]) =>
        [element("dt", {}, name), element("dd", {}, value)]))));
  }
  if (data.certificate) parts.push(certificateCard(data.certificate));
  return parts.length ? section("origin", "Where the model comes from", element("div", { class: "pair" }, ...parts)) : null;
}

/**
 * What the certificate found. Of an approximate path a bound of the gap is certified, for every τ,
 * and nothing else: its solutions need not meet the optimality conditions.
 */
function certificateCard(certificate) {
  const { checked, complete, continuum, holds, gap, gapTau, kkt, kktTau, tol } = certificate;
  const fact = (name, value) => [element("dt", {}, name), element("dd", {}, value)];
  const verdict = (good, bad) =>
    element("p", { class: holds ? "verdict good" : "verdict bad" }, holds ? good : bad);
  if (continuum || tol !== null) {
    return element("div", { class: "card" },
      element("h3", {}, "Certificate"),
      verdict(
        `At every τ, the training objective is within ${percent(gap, gap < 0.001 ? 3 : 2)} of the best possible.`,
        `The training objective is within ${percent(gap, 2)} of the best possible at every τ: less exact than asked for.`,
      ),
      element("dl", { class: "facts" },
        ...fact("Measured as", "duality gap, as a share of the objective at w = 0"),
        ...(tol === null ? [] : fact("Asked for", percent(tol, tol < 0.001 ? 3 : 2))),
        ...fact("Largest near", `τ = ${say(gapTau, 4)}`),
        ...fact("Computed from", `the training data, at ${sayCount(checked)} nodes; the bound holds between them, too`)));
  }
  const where = complete ? "every kink of the path and every midpoint between kinks" : "a sample of the path";
  return element("div", { class: "card" },
    element("h3", {}, "Certificate"),
    verdict("The solutions are optimal to floating-point accuracy.", "The solutions are less exact than promised: see the numbers."),
    element("dl", { class: "facts" },
      ...fact("Checked at", `${sayCount(checked)} values of τ (${where}), from the training data alone`),
      ...fact("Relative duality gap", `at most ${say(gap, 2)}, at τ = ${say(gapTau, 4)}`),
      ...fact("Optimality conditions", `violated by at most ${say(kkt, 2)}, at τ = ${say(kktTau, 4)}`)));
}

/** Words and their meaning. */
function glossary(entries) {
  return section("reading", "How to read this",
    element("dl", { class: "card words" }, ...entries.flatMap(([word, meaning]) =>
      [element("dt", {}, word), element("dd", {}, meaning)])));
}

// -- colours ------------------------------------------------------------------------------------

/** Light or dark as the system prefers, until the reader says otherwise. */
function setUpTheme() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const toggle = document.getElementById("theme");
  let chosen = null;
  const show = () => {
    const dark = chosen === null ? system.matches : chosen === "dark";
    root.dataset.theme = dark ? "dark" : "light";
    toggle.textContent = dark ? "Light" : "Dark";
  };
  toggle.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    show();
  });
  system.addEventListener("change", show);
  show();
}

/** A warning that the model was trained on these cases, null where it was not. */
function seenNote() {
  return data.seen ? element("p", { class: "warning", id: "in-sample" }, `${data.seen}.`) : null;
}

/** Where decisions come from, if not from the model that is described; else null. */
function aboutNote() {
  return data.about ? element("p", { class: "note about", id: "about" }, data.about) : null;
}

/** The first words of a headline about cases that the model was trained on. */
function seenMark() {
  return data.seen ? element("span", { class: "seen" }, "In-sample. ") : "";
}

/** Put the page together. `parts` that are null are left out. */
function startPage(parts) {
  main.append(spoken, ...parts.filter((part) => part !== null));
  document.getElementById("foot").append(element("p", {},
    "Made by taupath ", data.version, ". All numbers are computed in this page; nothing is loaded from the network. Its settings are in its address: a copied link shows what you see."));
  // the fragment is for settings: the link goes there without it
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  setUpTheme();
}
