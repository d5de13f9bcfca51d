// Taking results elsewhere: tables as files, commands to copy.

/** A cell of a CSV file. Text that a spreadsheet would take for a formula gets a ' in front. */
function csvCell(value) {
  if (typeof value === "number") return String(value);
  let text = String(value);
  if (/^[=+\-@\t\r]/.test(text) && !NUMBER.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvText(heads, rows) {
  return [heads, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/** A button that saves text as a file. `make` returns the text when it is pressed. */
function downloadButton(label, name, make, attributes = {}) {
  return button(label, () => {
    const address = URL.createObjectURL(new Blob([make()], { type: "text/csv;charset=utf-8" }));
    element("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }, attributes);
}

/** A line of code with a button to copy it. `show(text)` changes it. */
function copyLine(name, id) {
  const code = element("code", { id, tabindex: "0", "aria-label": name });
  const copy = button("Copy", async () => {
    const done = await copyText(code);
    copy.textContent = done ? "Copied" : "Press Ctrl+C";
    announce(done ? `${name}: copied` : `${name}: selected, press Ctrl and C to copy`);
    setTimeout(() => (copy.textContent = "Copy"), 2000);
  }, { class: "quiet", "aria-label": `Copy: ${name}`, id: `${id}-copy` });
  return {
    node: element("div", { class: "code" }, element("span", { class: "what" }, name), element("pre", {}, code), copy),
    show: (text) => {
      if (code.textContent !== text) code.textContent = text;
    },
  };
}

/** Copy the text of an element; where the browser forbids that, select it and return false. */
async function copyText(node) {
  try {
    await navigator.clipboard.writeText(node.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(node);
    return document.execCommand("copy");
  }
}
