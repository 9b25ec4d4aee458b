"""What run folders say, as tables and figures."""

from towpath.reports.audit import Audit, audit, audit_table
from towpath.reports.figures import write_figures, write_sample_tasks
from towpath.reports.tables import comparison_table

__all__ = [
    "Audit",
    "audit",
    "audit_table",
    "comparison_table",
    "write_figures",
    "write_sample_tasks",
]
