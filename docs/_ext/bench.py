"""Tables and plots of the benchmarks, made from the files in docs/benchmarks when a page is built.

``{bench} question`` shows what `benchmarks/questions` makes of its results. The options ``tables``
and ``plots`` name some of them, separated by semicolons; without an option all are shown, with
``none`` none are.
"""

import re
from pathlib import Path
from typing import Any, ClassVar

import questions
from docutils import nodes
from docutils.parsers.rst import directives
from drawing import svg
from results import Results
from showing import Plot, Table
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).parents[1] / "benchmarks"


class Bench(SphinxDirective):
    """What one question has found."""

    required_arguments = 1
    option_spec: ClassVar = {"tables": directives.unchanged, "plots": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return tables, plots, and where they are from."""
        name = self.arguments[0]
        file = FOLDER / f"{name}.json"
        if name not in questions.NAMES or not file.is_file():
            raise self.error(f"there are no results of {name!r}; make bench writes {file.name}")
        self.env.note_dependency(str(file))
        results, question = Results.read(file), questions.load(name)
        found: list[nodes.Node] = []
        for table in self._chosen("tables", question.tables(results.rows)):
            found += table_nodes(table)
        for k, plot in enumerate(self._chosen("plots", question.plots(results.rows))):
            found.append(picture(plot, f"{name}-{k}-{self.lineno}"))
        return [*warnings(results), *found, provenance(name, results)]

    def _chosen(self, option: str, known: dict[str, Any]) -> list[Any]:
        wanted = self.options.get(option)
        if wanted is None:
            return list(known.values())
        names = [each.strip() for each in wanted.split(";") if each.strip() not in ("", "none")]
        found = [known[each] for each in names if each in known]
        return found or list(known.values() if names else [])  # a run with tiny sizes has others


def table_nodes(table: Table) -> list[nodes.Node]:
    """Return a title, the table, and its notes."""
    heads = [head for head, _ in table.columns]
    lines = list(zip(*(cells for _, cells in table.columns), strict=True))
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in heads), cols=len(heads))
    group += nodes.thead("", _line(heads))
    group += nodes.tbody("", *(_line(cells) for cells in lines))
    shown: list[nodes.Node] = [nodes.paragraph("", "", nodes.strong("", table.title))]
    if lines:
        shown.append(nodes.table("", group, classes=["bench"]))
    if table.notes:
        items = [nodes.list_item("", nodes.paragraph("", note)) for note in table.notes]
        shown += [nodes.paragraph("", "Why some are not in it:"), nodes.bullet_list("", *items)]
    return shown


def _line(cells: Any) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", cell)) for cell in cells))


def picture(plot: Plot, prefix: str) -> nodes.Node:
    """Return a plot, drawn into the page itself."""
    return nodes.raw(
        "", f"<figure>{svg(plot, re.sub('[^a-z0-9]+', '-', prefix))}</figure>", format="html"
    )


def warnings(results: Results) -> list[nodes.Node]:
    """Say so where the figures mean nothing."""
    said = []
    if results.quick:
        said.append("These are figures of a run with tiny sizes, which shows that all works.")
    if results.seconds is None:
        said.append("The run that these figures are from was not finished.")
    return [nodes.warning("", nodes.paragraph("", each)) for each in said]


def provenance(name: str, results: Results) -> nodes.Node:
    """Return the command, the machine and the versions."""
    about = ", ".join(f"{key} {value}" for key, value in results.machine.items())
    command = nodes.literal("", f'make bench BENCH_ARGS="--question {name}"')
    took = "" if results.seconds is None else f" ({results.seconds:.0f} s)"
    return nodes.paragraph("", "", command, nodes.Text(f"{took}. {about}."), classes=["provenance"])


def setup(app: Any) -> dict[str, bool]:
    """Add the directive to Sphinx."""
    app.add_directive("bench", Bench)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
