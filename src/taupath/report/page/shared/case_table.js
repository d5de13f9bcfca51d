// Tables of single cases: some rows with a button for more, some columns with a button for the others.

const SHOWN_COLUMNS = 8;
const FIRST_ROWS = 12;
const MORE_ROWS = 48;

/** heads: of the columns before those of the data; row(i): their cells; onMore(): shows the table again. */
class CaseTable {
  constructor({ caption, id, heads, row, onMore }) {
    Object.assign(this, { heads, row });
    this.most = FIRST_ROWS;
    this.scroller = table(caption, [], id);
    this.more = button("Show more", () => {
      this.most += MORE_ROWS;
      onMore();
    }, { class: "quiet more", id: `${id}-more` });
    this.note = element("p", { class: "note", id: `${id}-note` });
    this.nodes = [this.scroller, this.more, this.note];
  }

  /**
   * Show some cases by their places, with some columns of the data. The note below begins with how
   * many are shown and continues with `about`; without any case it is `none`. `after` ends both.
   */
  show(list, columns, { about, none, after }) {
    const heads = [...this.heads, ...columns.map((column) => [column.name, column.numeric])];
    const shown = list.slice(0, this.most);
    this.scroller.querySelector("thead").replaceChildren(headRow(heads));
    showRows(this.scroller, heads, shown.map((i) => [...this.row(i), ...columns.map((column) => column.texts[i])]));
    this.more.hidden = shown.length === list.length;
    this.note.textContent = (list.length ? `${sayCount(shown.length)} of ${sayCount(list.length)}${about}` : none) + after;
  }
}

/** What to say where not all of n cases are listed. */
function someOnly(cases, n) {
  const listed = cases.rows.length;
  return listed < n
    ? ` Of ${sayCount(n)} cases, the ${sayCount(listed)} that the model is most wrong about are listed; all are in the counts.` : "";
}

/** The same, about the file of decisions. */
function savedOnly(cases, n) {
  return cases.rows.length < n ? ` Only the ${sayCount(cases.rows.length)} cases in this file; the command decides all of them.` : "";
}

/**
 * The columns that tables of cases have: some, or all at the press of a button.
 * `state.allColumns` says which; `changed` is called when that changes.
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
