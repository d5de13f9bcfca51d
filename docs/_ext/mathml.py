"""Equations as MathML, which browsers draw by themselves: no script, no fonts, no network."""

from typing import Any

from latex2mathml.converter import convert


def _inline(translator: Any, node: Any) -> None:
    from docutils.nodes import SkipNode

    translator.body.append(convert(node.astext(), display="inline"))
    raise SkipNode


def _block(translator: Any, node: Any) -> None:
    from docutils.nodes import SkipNode

    translator.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Add the renderer to Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
