"""The section on the convergence theorem: what the runs say of the quantities of its bound."""

from towpath.recipes.components import component_wants_targets
from towpath.recipes.optimizers import optimizer_options
from towpath.reports.blocks import Block, Cell, Note, Section, Table
from towpath.reports.charts.scale import tick_text
from towpath.reports.number_text import number
from towpath.runs.run_data import RunData
from towpath.runs.study import Study
from towpath.theory import reasons_outside, smallest_epsilon_0, weight_sum_bound


def theory_section(study: Study) -> Section:
    """Make the section on delta as measured, beside the other quantities of the bound."""
    rows, outside = [], {}
    for label in study.labels:
        runs = [run for run in study.runs[label] if run.delta is not None and run.recipe]
        if not runs:
            continue
        run = max(runs, key=lambda r: r.delta or 0.0)
        assert run.recipe is not None
        assert run.delta is not None
        alpha, M = float(optimizer_options(run.recipe.optimizer)["meta_lr"]), run.batch
        delta = run.delta if run.weighs else 0.0  # 1/M in single precision is not a deviation
        mean = sum(d for _, d in run.deviations) / len(run.deviations) if run.weighs else 0.0
        sums = weight_sum_bound(delta, M)
        floor = smallest_epsilon_0(alpha, run.largest_loss, delta, M)
        rows.append(
            [
                Cell(label, f"head s{study.colour(label) % 8}"),
                Cell(number(delta, 4)),
                Cell(number(mean, 4)),
                Cell(str(M)),
                Cell(tick_text(alpha)),
                Cell(f"{delta + M**-0.5:.3f} σ"),
                Cell(f"{2 / (alpha * sums):,.0f}"),
                Cell(number(run.largest_loss, 2)),
                Cell(f"{floor:.3g}"),
            ]
        )
        outside[label] = _outside(run)
    if not rows:
        note = Note("No weights were recorded yet, so there is no delta.", "missing")
        return Section("theory", "Where the convergence theorem stands", "", [note])
    columns = ["weighter", "δ", "mean over t", "M", "α", "σ̃", "S̃ must be below"]
    columns += ["largest loss seen", "ε₀ is at least"]
    blocks: list[Block] = [
        Table(
            "The bound's ingredients",
            columns,
            rows,
            "δ = max over t of |u_t − 1/M|₂, measured (largest of the seeds). "
            "σ̃ = σ (δ + 1/√M). The learning rate α is admissible if S̃ < 2 / (α (δ√M + 1)). "
            "ε₀ ≥ 2 δ B √M / α with the largest loss seen for B, whatever the rest is: where this "
            "is far above a gradient norm, the theorem promises nothing.",
        )
    ]
    seen: dict[tuple[str, ...], list[str]] = {}
    for label, reasons in outside.items():
        seen.setdefault(tuple(reasons), []).append(label)
    for why, labels in seen.items():
        # never empty: every run of a recipe draws new tasks, and the proof wants the same ones
        blocks.append(Note(f"{', '.join(labels)}: outside the theorem, because {'; '.join(why)}."))
    return Section(
        "theory",
        "Where the convergence theorem stands",
        "The paper proves that the squared gradient norm of the weighted loss falls to ε₀ + κ/T "
        "for SGD, one inner step and a bounded smooth loss. What a run can say of its terms:",
        blocks,
    )


def _outside(run: RunData) -> list[str]:
    recipe = run.recipe
    assert recipe is not None
    optimizer, learner = optimizer_options(recipe.optimizer), recipe.learner
    return reasons_outside(
        optimizer=recipe.optimizer.name,
        momentum=float(optimizer.get("momentum") or 0.0),
        weight_decay=float(optimizer.get("weight_decay") or 0.0),
        plain_steps=not any(optimizer[key] for key in ("clip_norm", "clip_value", "schedule")),
        learner=learner.name,
        adaptation_steps=int(learner.options.get("adaptation_steps", 5)),
        first_order=bool(learner.options.get("first_order", True)),
        targets=component_wants_targets(recipe.weighter),
    )
