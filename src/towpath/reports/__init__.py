"""What run folders say, as tables, figures and one HTML page."""

from towpath.reports.figures import write_figures, write_sample_tasks
from towpath.reports.page import write_report
from towpath.reports.tables import comparison_table

__all__ = ["comparison_table", "write_figures", "write_report", "write_sample_tasks"]
