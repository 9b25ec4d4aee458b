"""Tables as pools of tasks: assays, customers, sensors, from CSV, Parquet or NPZ files."""

from typing import TYPE_CHECKING

from towpath.lazy import exports

if TYPE_CHECKING:
    from towpath.data.tables.loading import load_table
    from towpath.data.tables.pool import TablePool
    from towpath.data.tables.scaling import Scaling
    from towpath.data.tables.table_task import TableTask

__all__ = ["Scaling", "TablePool", "TableTask", "load_table"]
__getattr__, __dir__ = exports(
    __name__,
    {
        "towpath.data.tables.loading": ("load_table",),
        "towpath.data.tables.pool": ("TablePool",),
        "towpath.data.tables.scaling": ("Scaling",),
        "towpath.data.tables.table_task": ("TableTask",),
    },
)
