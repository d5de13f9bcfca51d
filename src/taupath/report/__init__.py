"""The interactive report: one HTML file that shows what a model does at any costs."""

from taupath.report.writing import write_report

__all__ = ["write_report"]
