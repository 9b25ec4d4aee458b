"""Predictions for the rows of a table, after adapting to a table of a few examples."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from towpath.cli.parser import UsageError
from towpath.wording import amount, quoted, spreadsheet_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from towpath.data.tables.trained import NewRows, TrainedTable
    from towpath.training import TrainedLearner


@dataclass(frozen=True)
class TablePredictions:
    """The predictions as the content of a CSV file, and sentences on how they were made."""

    content: bytes
    count: int
    lines: tuple[str, ...]


def predict_table(
    trained: "TrainedLearner",
    table: "TrainedTable",
    support: Path,
    query: Path,
    target: str | None,
) -> TablePredictions:
    """Adapt to the examples of a table and predict the rows of another one.

    Args:
        trained: the learner.
        table: how rows became its inputs.
        support: the table of examples.
        query: the table of rows to predict.
        target: the column of the examples' targets; None for the one that training had, or one
            that is called so.
    """
    from towpath.data.tables.cautions import repeated_ids

    name = str(trained.recipe.data.options.get("id") or "")
    as_text = frozenset((name,)) if name else frozenset()
    for path in (support, query):
        if not path.is_file():
            raise UsageError(
                f"{path} is not a file; expected a table, because the run was trained on one. "
                "Check the path."
            )
    examples, rows = table.rows(support, as_text), table.rows(query, as_text)
    column = _target_column(trained, table, examples, target)
    missing = examples.table.columns[column].missing[examples.rows]
    known = examples.only(~missing)
    if not len(known.rows):
        raise UsageError(
            f"{support} has no row with features and a value in column {quoted(column)}; expected "
            "at least one example. Fill them in."
        )
    if not len(rows.rows):
        raise UsageError(f"{query} has no row with features; expected rows to predict.")
    if trained.shape.is_regression:
        found = _numbers(trained, table, known, rows, column)
        what = "numbers, in the units of the examples"
    else:
        _refuse_numbers(trained, table, known, column)
        found = _classes(trained, table, known, rows, column)
        classes = found.header[1:]
        what = f"classes: {', '.join(classes)}"
        if table.classes and set(classes) != set(table.classes):
            what += f" (training had others: {', '.join(table.classes)})"
    lines = [f"{len(known.rows)} examples of {quoted(column)}; predicted are {what}"]
    lines += filter(None, (repeated_ids(each.table, name) for each in (examples, rows)))
    lines += _filled_in(support, known) + _filled_in(query, rows)
    lines += _left_out(support, examples) + _left_out(query, rows)
    if unlabelled := int(missing.sum()):
        have, are = ("has", "is") if unlabelled == 1 else ("have", "are")
        lines.append(
            f"{amount(unlabelled, 'row')} of {support} {have} no value in column {quoted(column)} "
            f"and {are} left out"
        )
    return TablePredictions(_csv(found, rows, name), len(rows.rows), tuple(lines))


def _left_out(path: Path, used: "NewRows") -> list[str]:
    """Return the sentence on a table's rows without features, if it has any."""
    count = len(used.table) - len(used.rows)
    if not count:
        return []
    have, are = ("has", "is") if count == 1 else ("have", "are")
    return [f"{amount(count, 'row')} of {path} {have} no features and {are} left out"]


def _filled_in(path: Path, used: "NewRows") -> list[str]:
    """Return the sentence on a table's empty feature cells, if it has any."""
    if not used.holes.any():
        return []
    return [
        f"{int(used.holes.sum()):,} empty feature cells of {path}, in "
        f"{int((used.holes > 0).sum()):,} of {len(used.rows):,} rows, are filled in with the means "
        "of the training tasks"
    ]


@dataclass(frozen=True)
class _Found:
    """What was predicted: the heading of each column, and the cells of each row."""

    header: "Sequence[str]"
    lines: "Sequence[Sequence[str]]"


def _target_column(
    trained: "TrainedLearner", table: "TrainedTable", examples: "NewRows", target: str | None
) -> str:
    """Return the column of the targets; raise a DataError or UsageError if it is not known."""
    from towpath.data.tables.layout_choice import TARGET_NAMES, named_like

    columns = examples.table.columns
    if target is not None:
        return examples.table.column(target, "--target").name
    trained_on = trained.recipe.data.options.get("target")
    if isinstance(trained_on, str) and trained_on in columns:
        return trained_on
    free = (name for name in columns if name not in table.feature_columns)
    found = named_like(free, TARGET_NAMES)
    if not found:
        raise UsageError(
            f"{examples.table.name} has no column that is called {', '.join(TARGET_NAMES)}; "
            "expected one with the targets of the examples. Name it with --target COLUMN."
        )
    return found


def _refuse_numbers(
    trained: "TrainedLearner", table: "TrainedTable", examples: "NewRows", column: str
) -> None:
    """Raise UsageError for real numbers where classes are predicted: each would be a class."""
    from towpath.data.tables.columns import NumberColumn

    found = examples.table.columns[column]
    called_classes = trained.recipe.data.options.get("kind") == "classification"
    if called_classes or not isinstance(found, NumberColumn):
        return
    real = [row for row in examples.rows.tolist() if found.values[row] % 1]
    if any(found.texts[row] not in table.classes for row in real):
        known = f" ({', '.join(table.classes)})" if table.classes else ""
        raise UsageError(
            f"{examples.table.name} has {found.texts[real[0]]} in column {quoted(column)}, "
            f"{examples.table.place(real[0])}; expected classes, because the run was trained on "
            f"classes{known}. Name another column with --target, or train on numbers, as a "
            "regression."
        )


def _numbers(
    trained: "TrainedLearner",
    table: "TrainedTable",
    examples: "NewRows",
    rows: "NewRows",
    column: str,
) -> _Found:
    """Return the predicted number of each query row."""
    import torch

    targets = examples.table.numbers(column, "a target")[examples.rows]
    scale = table.target_scale(targets)
    support_y = torch.from_numpy(scale.apply(targets))[:, None]
    predictor = trained.adapt(examples.tensor(), support_y)
    outputs = scale.undo(predictor.predict(rows.tensor())[:, 0].numpy())
    return _Found(["predicted"], [[f"{value:.6g}"] for value in outputs])


def _classes(
    trained: "TrainedLearner",
    table: "TrainedTable",
    examples: "NewRows",
    rows: "NewRows",
    column: str,
) -> _Found:
    """Return the class and the probabilities of each query row, and the classes as headings."""
    import torch

    texts = examples.table.columns[column].texts
    words = [texts[row] for row in examples.rows.tolist()]
    classes = _ordered(trained, table, words, examples.table.name)
    support_y = torch.tensor([classes.index(word) for word in words])
    predictor = trained.adapt(examples.tensor(), support_y)
    probabilities = predictor.predict(rows.tensor())
    lines = [
        [spreadsheet_cell(classes[int(row.argmax())]), *(f"{p:.6f}" for p in row.tolist())]
        for row in probabilities
    ]
    return _Found(["predicted", *classes], lines)


def _ordered(
    trained: "TrainedLearner", table: "TrainedTable", words: "Sequence[str]", name: str
) -> list[str]:
    """Return the examples' classes in the order of the learner's outputs."""
    found = sorted(set(words))
    if set(found) == set(table.classes):
        return list(table.classes)
    if trained.learner.wants_embedding:
        if len(found) < 2:
            raise UsageError(
                f"{name} has examples of the class {quoted(found[0])} only; expected two classes "
                "at least. Add examples of another one."
            )
        return found
    if table.classes:
        raise UsageError(
            f"{name} has the classes {', '.join(found)}; expected {', '.join(table.classes)}, "
            "those of the training tasks. Correct the column, or train a protonet, which takes "
            "any classes."
        )
    if len(found) != trained.shape.outputs:
        raise UsageError(
            f"{name} has {len(found)} classes; expected {trained.shape.outputs}, the ways that "
            f"this run's {trained.recipe.learner.name} was trained with. A protonet takes any "
            "number."
        )
    return found


def _csv(found: _Found, rows: "NewRows", id_column: str) -> bytes:
    """Return a CSV file whose first column names the rows, under the name of the id column."""
    text = io.StringIO()
    writer = csv.writer(text)
    own = id_column in rows.table.columns and id_column not in found.header
    writer.writerow(map(spreadsheet_cell, [id_column if own else "row", *found.header]))
    for name, line in zip(rows.names(id_column), found.lines, strict=True):
        writer.writerow([spreadsheet_cell(name), *line])
    return text.getvalue().encode("utf-8", "surrogateescape")
