"""The report: one self-contained HTML file made from a stream of scores."""

from celadon.report.collector import ReportCollector

__all__ = ["ReportCollector"]
