"""Reports on run folders: tables, figures, audits and HTML pages."""

from towpath.reports.audit import Audit, audit
from towpath.reports.charts.figures import write_figures
from towpath.reports.charts.sample_tasks import write_sample_tasks
from towpath.reports.page import write_report
from towpath.reports.tables import comparison_table, metrics_table

__all__ = [
    "Audit",
    "audit",
    "comparison_table",
    "metrics_table",
    "write_figures",
    "write_report",
    "write_sample_tasks",
]
