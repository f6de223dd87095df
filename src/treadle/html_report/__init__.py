"""A model as one HTML page: its blocks as graphs, findings, engines, values over iterations."""

from treadle.html_report.write import write_report

__all__ = ["write_report"]
