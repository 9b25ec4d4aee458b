"""A plan as people read it: as text, as a table in the terminal, and as HTML in a notebook."""

import html
import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from towpath.weighters.plan import Plan

# What is printed of a plan: no cell is cut at WIDTH.
WIDTH, COLUMNS, ROWS = 110, 10, 20


def plan_text(plan: "Plan") -> str:
    """Return the plan as text: its summary and the table of weights, without colours."""
    buffer = io.StringIO()
    console = Console(file=buffer, width=WIDTH, color_system=None, legacy_windows=False)
    for part in (*_summary(plan), weights_table(plan)):
        console.print(part, highlight=False)
    return buffer.getvalue().rstrip()


def weights_table(plan: "Plan") -> Table:
    """Return the weights as a table, coloured by how far they are from uniform ones."""
    T, M = plan.weights.shape
    title = f"Task weights (uniform is {1 / M:.3g})"
    parts = [
        f"first {shown} of {count} {what}"
        for shown, count, what in ((COLUMNS, M, "tasks"), (ROWS, T, "mini-batches"))
        if count > shown
    ]
    table = Table(title="; ".join([title, *parts]), title_justify="left")
    table.add_column("mini-batch", justify="right")
    for i in range(min(M, COLUMNS)):
        table.add_column(f"task {i}", justify="right")
    for t, row in enumerate(plan.weights[:ROWS, :COLUMNS].tolist()):
        table.add_row(str(t), *(Text(f"{w:.4f}", style=_style(w * M)) for w in row))
    return table


def plan_html(plan: "Plan") -> str:
    """Return the plan as HTML, for notebooks: its summary and the table of all weights."""
    M = plan.weights.shape[1]
    head = "".join(f"<th>task {i}</th>" for i in range(M))
    rows = "".join(
        f"<tr><th>mini-batch {t}</th>"
        + "".join(
            f'<td style="background:{_tint(float(w) * M)};color:#111">{float(w):.4f}</td>'
            for w in row
        )
        + "</tr>"
        for t, row in enumerate(plan.weights)
    )
    summary = "<br>".join(html.escape(line) for line in _summary(plan))
    return f"<div><p>{summary}</p><table><tr><th></th>{head}</tr>{rows}</table></div>"


def _summary(plan: "Plan") -> list[str]:
    T, M = plan.weights.shape
    lines = [
        f"Plan of {T} mini-batches x {M} tasks: {plan.status.value}. {plan.status.message}",
        f"cost {plan.nominal_cost:.6g} -> {plan.cost:.6g}   decrease: predicted "
        f"{plan.predicted_decrease:.3g}, actual {plan.actual_decrease:.3g}   "
        f"beta {plan.beta:.4g}   curvature ratio {plan.curvature_ratio:.2g}",
        f"weights moved {100 * plan.spread:.3g}% from their mean at most   effective tasks "
        f"{float(plan.effective_tasks.min()):.2f} to {float(plan.effective_tasks.max()):.2f} "
        f"of {M}" + ("" if plan.agreement is None else f"   agreement {plan.agreement:.2f}"),
        f"{plan.evaluations:g} mini-batch evaluations, {plan.sketches:g} sketches, "
        + (f"{plan.products:g} Hessian products, " if plan.products else "")
        + f"{plan.seconds:.2f} s",
    ]
    if plan.query_share < 1:
        lines.append(
            f"planned on {100 * plan.query_share:.0f}% of each query set "
            f"({plan.part_evaluations:g} mini-batch evaluations there); the costs above are "
            "estimated on that part of every other task, training used all of it"
        )
    for used in sorted(plan.curvature_used, key=lambda used: used.value):
        if not used.as_asked:
            lines.append(f"curvature: {used.value}. {used.message}")
    for i, line in enumerate(plan.history, 1):
        lines.append(
            f"iteration {i}: cost {line.cost:.6g}, predicted {line.predicted:.3g}, actual "
            f"{line.actual:.3g}, step {line.eps:g} after {line.trials} trial(s)"
        )
    return lines


def _style(relative: float) -> str:
    return "green" if relative > 1.05 else "red" if relative < 0.95 else ""


def _tint(relative: float) -> str:
    """Return a colour: white at uniform, green above, red below; full at twice and at zero."""
    strength = round(100 * min(1.0, abs(relative - 1.0)))
    hue = 140 if relative >= 1 else 10
    return f"hsl({hue},70%,{100 - strength // 2}%)"
