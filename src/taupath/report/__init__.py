"""The interactive report: one HTML file that shows what a model does at any costs.

Knows fitted estimators and their outcomes on labelled cases. `page/` has the scripts and the style,
the modules here what a page carries. Must not know the solver, model files or the command line.
"""

from taupath.report.writing import write_report

__all__ = ["write_report"]
