"""A page that shows what was understood of a table: tasks, sizes, class balance, missing values."""

from collections.abc import Sequence

import numpy as np

from towpath.data.tables.pool import TablePool
from towpath.data.tables.table_task import TableTask
from towpath.reports.blocks import (
    Block,
    Cell,
    Chapter,
    Figure,
    Figures,
    Legend,
    Note,
    Section,
    Table,
)
from towpath.reports.charts.lines import Axes, Line, line_chart
from towpath.reports.charts.svg import Words
from towpath.reports.number_text import number
from towpath.reports.page import render

ROWS_SHOWN = 1000
"""tasks that are listed, the largest first"""
COLUMNS_SHOWN = 50
CLASSES_SHOWN = 6
FOOTER = "Made by <code>towpath data preview</code>. The same table gives the same page."


def table_page(pools: Sequence[TablePool]) -> str:
    """Return the HTML of the page on a table.

    Args:
        pools: the pools of its splits.
    """
    return render(f"Preview of {pools[0].name}", [table_chapter(pools)], made_by=FOOTER)


def table_chapter(pools: Sequence[TablePool]) -> Chapter:
    """Return the chapter of the page: splits, tasks, groups, features, how it was read."""
    first = pools[0]
    tasks = sum(len(pool) for pool in pools)
    targets = sum(pool.target_count for pool in pools)
    kind = "regression" if first.is_regression else "classification"
    finding = (
        f"{tasks:,} tasks with {targets:,} {'numbers' if first.is_regression else 'labels'} on "
        f"{len(first.features):,} rows of {first.features.shape[1]:,} features."
    )
    sections = [
        _splits_section(pools),
        _tasks_section(pools),
        _groups_section(pools),
        _features_section(pools),
        Section("read", "How it was read", "", [Note(note) for note in first.notes]),
    ]
    badges = [kind, *(["synthetic data"] if first.synthetic else [])]
    return Chapter("table", first.name, "", finding, badges, [], sections)


def _splits_section(pools: Sequence[TablePool]) -> Section:
    rows = []
    for pool in pools:
        sizes = [len(task) for task in pool.tasks]
        counts = (len(pool), len(pool.groups), pool.target_count)
        cells = [Cell(f"{count:,}") for count in (*counts, min(sizes), max(sizes))]
        rows.append([Cell(pool.split, "head"), *cells])
    names = ("split", "tasks", "groups", "targets", "smallest task", "largest task")
    lead = "No task is in two splits."
    scaling = pools[0].scaling
    if scaling is not None and (scaling.scale != 1).any():
        lead += " Features are standardised by the rows of the training tasks."
    return Section("splits", "Splits", lead, [Table("What each split has", names, rows)])


def _tasks_section(pools: Sequence[TablePool]) -> Section:
    found = [(task, pool.split) for pool in pools for task in pool.tasks]
    found.sort(key=lambda pair: (-len(pair[0]), pair[0].name))
    largest = len(found[0][0])
    regression = pools[0].is_regression
    rows = [
        [
            Cell(task.name, "head"),
            Cell(task.group, "text"),
            Cell(split, "text"),
            Cell(f"{len(task):,}", bar=len(task) / largest),
            *(_spread(task) if regression else _balance(task)),
        ]
        for task, split in found[:ROWS_SHOWN]
    ]
    about = ("mean", "standard deviation", "lowest", "highest")
    names = about if regression else ("smallest class", "classes")
    note = ""
    if len(found) > ROWS_SHOWN:
        note = f"The {ROWS_SHOWN:,} largest of {len(found):,} tasks."
    table = Table("Every task", ("task", "group", "split", "rows", *names), rows, note)
    return Section("tasks", "Tasks", "", [Figures(_figures(pools)), table])


def _balance(task: TableTask) -> list[Cell]:
    """The share of the smallest class, and the classes with their rows, the largest first."""
    share = min(task.class_counts) / max(len(task), 1)
    pairs = sorted(zip(task.labels, task.class_counts, strict=True), key=lambda pair: -pair[1])
    shown = ", ".join(f"{name}: {count:,}" for name, count in pairs[:CLASSES_SHOWN])
    more = f" and {len(pairs) - CLASSES_SHOWN:,} more" if len(pairs) > CLASSES_SHOWN else ""
    rare = "bad" if share < 0.02 else ""
    return [Cell(f"{number(100 * share)} %", rare, bar=share), Cell(shown + more, "text quiet")]


def _spread(task: TableTask) -> list[Cell]:
    values = task.targets
    return [
        Cell(number(float(value), 3))
        for value in (values.mean(), values.std(), values.min(), values.max())
    ]


def _figures(pools: Sequence[TablePool]) -> list[Figure]:
    lines = []
    for colour, pool in enumerate(pools):
        sizes = sorted((len(task) for task in pool.tasks), reverse=True)
        points = [(float(rank + 1), float(size)) for rank, size in enumerate(sizes)]
        lines.append(Line(pool.split, colour, points, dots=len(points) < 3))
    words = Words(
        "sizes", "Sizes of the tasks", "The number of rows of each task, from large to small."
    )
    axes = Axes("task, by size", "rows", y_log=True, whole=True)
    legend = [Legend(pool.split, colour) for colour, pool in enumerate(pools)]
    figures = [Figure("Rows of each task", line_chart(words, axes, lines), legend=legend)]
    if not pools[0].is_regression:
        figures.append(_balance_figure(pools, legend))
    return figures


def _balance_figure(pools: Sequence[TablePool], legend: Sequence[Legend]) -> Figure:
    lines = []
    for colour, pool in enumerate(pools):
        shares = sorted(100 * min(task.class_counts) / len(task) for task in pool.tasks)
        points = [(float(rank + 1), share) for rank, share in enumerate(shares)]
        lines.append(Line(pool.split, colour, points, dots=len(points) < 3))
    words = Words(
        "balance",
        "Class balance of the tasks",
        "The share of the smallest class of each task, from small to large.",
    )
    axes = Axes("task, by balance", "smallest class, %", include_y=(0.0,))
    return Figure("Smallest class of each task", line_chart(words, axes, lines), legend=legend)


def _groups_section(pools: Sequence[TablePool]) -> Section:
    found: dict[str, list[tuple[TableTask, str]]] = {}
    for pool in pools:
        for task in pool.tasks:
            found.setdefault(task.group, []).append((task, pool.split))
    order = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    most = len(order[0][1])
    rows = [
        [
            Cell(group, "head"),
            Cell(f"{len(own):,}", bar=len(own) / most),
            Cell(f"{sum(len(task) for task, _ in own):,}"),
            Cell(", ".join(sorted({split for _, split in own})), "text"),
        ]
        for group, own in order[:ROWS_SHOWN]
    ]
    table = Table("Groups, the largest first", ("group", "tasks", "targets", "splits"), rows)
    return Section("groups", "Groups", "", [table])


def _features_section(pools: Sequence[TablePool]) -> Section:
    used = np.unique(np.concatenate([task.rows for pool in pools for task in pool.tasks]))
    pool = pools[0]
    # by blocks of rows, because the features may be larger than the memory
    missing = np.zeros(pool.features.shape[1], dtype=np.int64)
    for start in range(0, len(used), 4096):
        missing += np.isnan(pool.features[used[start : start + 4096]]).sum(axis=0)
    lead = (
        f"{len(used):,} of {len(pool.features):,} rows are in a task; "
        f"{int(missing.sum()):,} of their {len(used) * len(missing):,} values are missing."
    )
    order = [int(i) for i in np.argsort(-missing, kind="stable")[:COLUMNS_SHOWN] if missing[i]]
    if not order:
        return Section("features", "Features", lead, [Note("No value is missing.")])
    rows = [
        [
            Cell(pool.feature_names[i] if pool.feature_names else f"feature {i}", "head"),
            Cell(f"{int(missing[i]):,}"),
            Cell(f"{number(100 * missing[i] / len(used))} %", bar=float(missing[i] / len(used))),
        ]
        for i in order
    ]
    touched = int((missing > 0).sum())
    note = "Each is filled in with the mean of its column over the training tasks."
    if touched > len(order):
        note = f"The {len(order)} columns that lack most, of {touched:,}. {note}"
    table = Table("Missing values", ("column", "missing", "share"), rows, note)
    blocks: list[Block] = [table]
    return Section("features", "Features", lead, blocks)
