// The frame of every page: its data, sections and tables, colours, and where the model comes from.

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");

// -- screen readers and frames ------------------------------------------------------------------

const spoken = element("p", { class: "hidden", "aria-live": "polite", "aria-atomic": "true", id: "spoken" });
let speaking = 0;

/** Tell screen readers, once the slider has come to rest. */
function announce(text) {
  clearTimeout(speaking);
  speaking = setTimeout(() => (spoken.textContent = text), 500);
}

/**
 * A function to call with the name of each setting that changes. `draw` is called with a set of
 * these names, once per frame however fast the slider moves.
 */
function oncePerFrame(draw) {
  const changed = new Set();
  return (setting) => {
    if (!changed.size) {
      requestAnimationFrame(() => {
        draw(changed);
        changed.clear();
      });
    }
    changed.add(setting);
  };
}

// -- sections and tables ------------------------------------------------------------------------

function section(id, title, ...content) {
  return card(id, title, { id }, ...content);
}

/** A section with a heading, whose attributes say that it is a card. */
function card(id, title, attributes, ...content) {
  return element("section", { "aria-labelledby": `${id}-title`, ...attributes },
    element("h2", { id: `${id}-title` }, title), ...content);
}

/** Charts side by side, two or three to a row, so that rows are full. */
function chartGrid(charts) {
  const across = charts.length % 3 === 0 ? "three" : "two";
  return element("div", { class: `grid ${across}` }, ...charts.map((chart) => chart.node));
}

/** A region that scrolls by itself where its content is wide. */
function scroller(label, content, id = null) {
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label, id }, content);
}

/** A table whose rows `showRows` puts in. heads: [text, numeric]. */
function table(caption, heads, id) {
  return scroller(caption, element(
    "table",
    {},
    element("caption", { class: "hidden" }, caption),
    element("thead", {}, headRow(heads)),
    element("tbody", {}),
  ), id);
}

function headRow(heads) {
  return element("tr", {}, ...heads.map(([text, numeric]) =>
    element("th", { scope: "col", class: numeric ? "number" : "" }, text)));
}

function showRows(node, heads, rows) {
  node.querySelector("tbody").replaceChildren(...rows.map((row) => element("tr", {}, ...row.map((cell, k) =>
    element("td", { class: heads[k][1] ? "number" : "" }, cell)))));
}

/** A table of true classes by decisions. cell(i, j) is that of true class i and decision j. */
function decisionTable(attributes, caption, names, cell) {
  const corner = data.target ? element("span", { class: "target" }, data.target) : "";
  return element("table", attributes, caption,
    element("thead", {}, element("tr", {}, element("td", {}, corner),
      ...names.map((name) => element("th", { scope: "col" }, "taken for ", element("b", {}, name))))),
    element("tbody", {}, ...names.map((name, i) => element("tr", {},
      element("th", { scope: "row" }, "really ", element("b", {}, name)), ...names.map((_, j) => cell(i, j))))));
}

/** Numbers with their names, from [id, name, value()]. `show` updates them. */
function metricList(metrics) {
  const cells = metrics.map(([id]) => element("dd", { id: `metric-${id}` }));
  return {
    node: element("dl", { class: "metrics" }, ...metrics.map(([, name], k) =>
      element("div", {}, element("dt", {}, name), cells[k]))),
    show: () => metrics.forEach(([, , value], k) => (cells[k].textContent = value())),
  };
}

// -- where the model comes from -----------------------------------------------------------------

/** How the model was trained, and its certificate; null where nothing is known. */
function originSection() {
  const { provenance, certificate } = data;
  if (!provenance.length && !certificate) return null;
  return section("origin", "Where the model comes from", element("div", { class: "pair" },
    provenance.length ? element("div", { class: "card" }, element("h3", {}, "How the model was trained"),
      element("dl", { class: "facts" }, ...definitions(provenance))) : null,
    certificate ? certificateCard(certificate) : null));
}

function certificateCard(certificate) {
  const { continuum, holds, stored, tol } = certificate;
  const { good, bad, facts } = (continuum || tol !== null ? approximateFacts : exactFacts)(certificate);
  if (stored) return storedCard(holds ? good : bad, facts);
  return element("div", { class: "card" }, element("h3", {}, "Certificate"),
    element("p", { class: holds ? "verdict good" : "verdict bad" }, holds ? good : bad),
    element("dl", { class: "facts" }, ...definitions(facts)));
}

/** What a file says about itself. It looks like no verdict: whoever wrote the file could write anything. */
function storedCard(statement, facts) {
  return element("div", { class: "card", id: "stored-certificate" }, element("h3", {}, "Stored certificate, not checked"),
    element("p", {}, "The model file holds no training data, so its certificate could not be computed again. It says:"),
    element("blockquote", {}, statement),
    element("dl", { class: "facts" }, ...definitions(facts)),
    element("p", { class: "note" }, "taupath certify, with the model and its training file, checks it."));
}

/** For an approximate path, only a bound on the gap is certified: its solutions need not meet the optimality conditions. */
function approximateFacts({ checked, gap, gapTau, tol }) {
  const share = (value) => percent(value, value < 0.001 ? 3 : 2);
  return {
    good: `At every τ, the training objective is within ${share(gap)} of the best possible.`,
    bad: `The training objective is within ${percent(gap, 2)} of the best possible at every τ: less exact than asked for.`,
    facts: [
      ["Measured as", "duality gap, as a share of the objective at w = 0"],
      ...(tol === null ? [] : [["Asked for", share(tol)]]),
      ["Largest near", `τ = ${say(gapTau, 4)}`],
      ["Computed from", `the training data, at ${sayCount(checked)} nodes; the bound holds between them, too`],
    ],
  };
}

function exactFacts({ checked, complete, gap, gapTau, kkt, kktTau }) {
  const where = complete ? "every kink of the path and every midpoint between kinks" : "a sample of the path";
  return {
    good: "The solutions are optimal to floating-point accuracy.",
    bad: "The solutions are less exact than promised: see the numbers.",
    facts: [
      ["Checked at", `${sayCount(checked)} values of τ (${where}), from the training data alone`],
      ["Relative duality gap", `at most ${say(gap, 2)}, at τ = ${say(gapTau, 4)}`],
      ["Optimality conditions", `violated by at most ${say(kkt, 2)}, at τ = ${say(kktTau, 4)}`],
    ],
  };
}

// -- the page -----------------------------------------------------------------------------------

/** Light or dark as the system prefers, until the reader chooses. */
function setUpTheme() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const toggle = document.getElementById("theme");
  let chosen = null;
  const show = () => {
    const theme = chosen ?? (system.matches ? "dark" : "light");
    root.dataset.theme = theme;
    toggle.textContent = theme === "dark" ? "Light" : "Dark";
  };
  toggle.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    show();
  });
  system.addEventListener("change", show);
  show();
}

/** The headline: what happens at the present settings. `show(first, rest)` sets it, and tells screen readers. */
function makeHeadline(attributes = {}) {
  const node = element("p", { class: "headline", id: "headline", ...attributes });
  const mark = data.seen ? "In-sample. " : "";
  return {
    node,
    show: (first, rest, before = "") => {
      node.replaceChildren(mark && element("span", { class: "seen" }, mark), element("b", {}, first), rest);
      announce(before + mark + first + rest);
    },
  };
}

/** Put the page together: its headline, warnings, content without what is null, and glossary. */
function startPage(headline, content, glossary) {
  const seen = data.seen ? element("p", { class: "warning", id: "in-sample" }, `${data.seen}.`) : null;
  const about = data.about ? element("p", { class: "note about", id: "about" }, data.about) : null;
  const costs = data.withCosts ? element("p", { class: "warning", id: "with-costs" }, data.withCosts) : null;
  const reading = section("reading", "How to read this", element("dl", { class: "card words" }, ...definitions(glossary)));
  main.append(...[spoken, headline.node, seen, about, costs, ...content, originSection(), reading].filter((part) => part !== null));
  document.getElementById("foot").append(element("p", {},
    "Made by taupath ", data.version, ". All numbers are computed in this page; nothing is loaded from the network. Its settings are in its address: a copied link shows what you see."));
  // the fragment is for settings: the link goes there without it
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  setUpTheme();
}
