// Taking results elsewhere: tables as files, commands to copy.

/** A cell of a CSV file. Text that a spreadsheet would take for a formula gets a ' in front, as in the files of `taupath predict`. */
function csvCell(value) {
  if (typeof value === "number") return String(value);
  let text = String(value);
  if (/^[=+\-@\t\r\n＝＋－＠]/.test(text) && !/^[+-]$/.test(text) && !NUMBER.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvText(heads, rows) {
  return [heads, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/**
 * The listed cases as a CSV file, in the order of their rows: the row, the columns that are no
 * features, and what `row(i)` returns for the case at place i.
 */
function casesFile(cases, heads, row) {
  const known = cases.columns.filter((column) => !column.feature);
  const order = Array.from(cases.rows.keys()).sort((i, j) => cases.rows[i] - cases.rows[j]);
  return csvText(
    ["row", ...known.map((column) => column.name), ...heads],
    order.map((i) => [cases.rows[i] + 1, ...known.map((column) => column.texts[i]), ...row(i)]),
  );
}

/** A button that saves text as a file. `make` returns the text when it is pressed. */
function downloadButton(name, make, attributes) {
  return button(`Save ${name}`, () => {
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

/**
 * The section with files to save, and the command and the line of Python that do what the page does.
 *
 * saves: buttons; note: what they save. `show(options, argument)` sets the options of the command
 * and the argument of `predict` in Python.
 */
function exportSection(saves, note) {
  const [command, python] = [copyLine("Command", "command"), copyLine("Python", "python")];
  const [model, cases] = data.files?.shell ?? ["model.tau", "data.csv"];
  const files = data.files?.python;
  return {
    node: section("export", "Take it with you", element("div", { class: "card" },
      saves.length ? element("div", { class: "actions first-actions" }, ...saves, element("span", { class: "note" }, note)) : null,
      command.node, python.node)),
    show: (options, argument) => {
      command.show(`taupath predict ${model} ${cases} ${options}`);
      python.show(files ? `tp.load(${files[0]}).predict(${files[1]}, ${argument})` : `model.predict(X, ${argument})`);
    },
  };
}
