"""Reports on run folders: tables, figures and one HTML page."""

from towpath.reports.audit import Audit, audit, audit_table
from towpath.reports.charts.figures import write_figures, write_sample_tasks
from towpath.reports.page import write_report
from towpath.reports.tables import comparison_table, metrics_table

__all__ = [
    "Audit",
    "audit",
    "audit_table",
    "comparison_table",
    "metrics_table",
    "write_figures",
    "write_report",
    "write_sample_tasks",
]
