// A table of single cases: some rows with a button for more, some columns with a cue to the others.

const SHOWN_COLUMNS = 8;
const FIRST_ROWS = 12;
const MORE_ROWS = 48;

/** A table of cases whose columns may be many, with a button for more rows. */
class CaseTable {
  constructor({ caption, id, heads, row, onMore }) {
    Object.assign(this, { heads, row });
    this.most = FIRST_ROWS;
    this.scroller = table(caption, [], [], id);
    this.more = button("Show more", () => {
      this.most += MORE_ROWS;
      onMore();
    }, { class: "quiet more", id: `${id}-more` });
    this.note = element("p", { class: "note", id: `${id}-note` });
  }

  /** Show some cases, by their places in `cases`. */
  show(list, columns, note) {
    const heads = [...this.heads, ...columns.map((column) => [column.name, column.numeric])];
    const rows = list.slice(0, this.most).map((i) => [...this.row(i), ...columns.map((column) => column.texts[i])]);
    const [head, body] = [this.scroller.querySelector("thead"), this.scroller.querySelector("tbody")];
    head.replaceChildren(headRow(heads));
    body.replaceChildren(...rows.map((cells) => tableRow(cells, heads)));
    this.more.hidden = list.length <= this.most;
    this.note.textContent = note;
  }
}

/**
 * Which columns tables of cases have: some, or all at the press of a button.
 * `changed` is called then; `state.allColumns` says which.
 */
class ColumnChoice {
  constructor(columns, state, changed) {
    Object.assign(this, { columns, state, changed });
    this.buttons = [];
  }

  shown() {
    return this.state.allColumns ? this.columns : this.columns.slice(0, SHOWN_COLUMNS);
  }

  /** A button for the columns that are not shown yet; null where all are. */
  button(id) {
    if (this.columns.length <= SHOWN_COLUMNS) return null;
    const toggle = button("", () => {
      this.state.allColumns = !this.state.allColumns;
      this.changed();
    }, { class: "quiet", id });
    this.buttons.push(toggle);
    return toggle;
  }

  /** Say on the buttons what they do. */
  show() {
    const order = data.coefficients ? "largest weights first" : "as they were given";
    for (const toggle of this.buttons) {
      toggle.textContent = this.state.allColumns ? `Show ${SHOWN_COLUMNS} columns only` : `${this.columns.length - SHOWN_COLUMNS} more columns, ${order}`;
      toggle.setAttribute("aria-expanded", String(this.state.allColumns));
    }
  }
}
