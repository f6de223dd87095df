"""Writes a model as one HTML page: block graphs, findings, engines, values over iterations."""

from treadle.html_report.write import write_report

__all__ = ["write_report"]
