// Elements of the page and of drawings. Text only ever becomes text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Attributes that are false or null are left out, and so are null children. */
function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for SVG. */
function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function button(text, action, attributes = {}) {
  return element("button", { type: "button", onclick: action, ...attributes }, text);
}

/** Names and what they are, as the children of a <dl>. */
function definitions(pairs) {
  return pairs.flatMap(([name, meaning]) => [element("dt", {}, name), element("dd", {}, meaning)]);
}

let nextId = 0;

function freshId(stem) {
  nextId += 1;
  return `${stem}-${nextId}`;
}
