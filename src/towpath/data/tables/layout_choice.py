"""Which layout a table has: what the options say, and what the names of its columns suggest."""

from dataclasses import dataclass
from typing import Literal

from towpath.data.errors import DataError
from towpath.data.tables.columns import NumberColumn, Table, TextColumn, listed
from towpath.data.tables.layouts import Labels, Layout, Long, Wide
from towpath.wording import quoted

LayoutName = Literal["auto", "wide", "long", "labels"]
TASK_NAMES = ("task",)
TARGET_NAMES = ("target", "label", "class", "y")


@dataclass(frozen=True)
class LayoutChoice:
    """The options by which a user says where the tasks are."""

    layout: LayoutName = "auto"
    tasks: tuple[str, ...] = ()
    task: str = ""
    target: str = ""

    def chosen(self, table: Table, besides: frozenset[str], features_named: bool) -> Layout:
        """Return the layout of a table; what is not given is guessed from the names of columns.

        Args:
            table: the table.
            besides: columns that are ids, groups or features, and hence no tasks.
            features_named: whether the user said which columns are features.
        """
        self._refuse_contradictions()
        task = self.task or ("" if self.tasks else _named_like(table, TASK_NAMES))
        target = self.target or ("" if self.tasks else _named_like(table, TARGET_NAMES))
        layout = self.layout
        if layout == "auto":
            layout = "wide" if self.tasks or not target else "long" if task else "labels"
        if layout == "wide":
            return Wide(self._wide(table, besides, features_named))
        target_column = table.column(target or None, "data.target").name
        if layout == "labels":
            return Labels(target_column)
        return Long(table.column(task or None, "data.task").name, target_column)

    def _refuse_contradictions(self) -> None:
        given = [name for name in ("tasks", "task", "target") if getattr(self, name)]
        fitting = {"wide": {"tasks"}, "long": {"task", "target"}, "labels": {"target"}}
        wrong = [name for name in given if name not in fitting.get(self.layout, given)]
        if wrong or ("tasks" in given and len(given) > 1):
            raise DataError(
                f"data has {', '.join(given)} and layout {self.layout}; expected tasks for a wide "
                "table, task and target for a long one, target alone for one of labels. Remove "
                "what does not apply."
            )
        if self.layout == "auto" and self.task and not self.target:
            raise DataError(
                f"data.task is {quoted(self.task)} and data.target is not given; expected both for "
                "a table with a task column. Name the column of the targets."
            )

    def _wide(self, table: Table, besides: frozenset[str], features_named: bool) -> tuple[str, ...]:
        if self.tasks:
            names = [n for name in self.tasks for n in table.expanded(name, "data.tasks")]
            both = [name for name in names if name in besides]
            if both or len(set(names)) < len(names):
                raise DataError(
                    f"data.tasks has {quoted((both or sorted(names))[0])} "
                    f"{'which is a feature, an id or a group as well' if both else 'twice'}; "
                    "expected each column once. Remove it from one of them."
                )
            return tuple(names)
        if not features_named:
            raise DataError(
                f"{table.name} has the columns {listed(table.columns)}, and none of them is known "
                "to be a task; expected to be told. Name the task columns with data.tasks (one "
                "column a task), or data.task and data.target (a column with names of tasks), or "
                "data.target alone (a column of classes)."
            )
        names = [
            name
            for name, column in table.columns.items()
            if name not in besides and isinstance(column, NumberColumn)
        ]
        odd = [
            name
            for name, column in table.columns.items()
            if name not in besides and isinstance(column, TextColumn) and column.meant_as_numbers
        ]
        if odd:
            table.numbers(odd[0], "a task")
        if not names:
            raise DataError(
                f"{table.name} has no column of numbers beside ids, groups and features; expected "
                "one column a task. Name the task columns with data.tasks."
            )
        return tuple(names)


def _named_like(table: Table, known: tuple[str, ...]) -> str:
    return next((name for name in table.columns if name.lower() in known), "")
