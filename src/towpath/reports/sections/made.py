"""The section on how the runs were made: their state, commands, versions and configuration."""

import yaml

from towpath.reports.blocks import Block, Cell, Listing, Note, Section, Table
from towpath.runs.study import Study


def made_section(study: Study) -> Section:
    """Make the section on the configuration, versions and commands of the runs."""
    blocks: list[Block] = []
    rows = []
    for label in study.labels:
        for run in study.runs[label]:
            state = "finished" if run.finished else f"step {run.steps} of {run.asked_steps or '?'}"
            versions = run.made_with.versions or (run.summary.versions if run.summary else {})
            made = ", ".join(f"{k} {v}" for k, v in versions.items()) or "not known"
            command = run.made_with.command or "not recorded (made from Python)"
            rows.append(
                [
                    Cell(run.name, f"head s{study.colour(label) % 8}"),
                    Cell(str(run.seed)),
                    Cell(state, "" if run.finished else "bad"),
                    Cell(made, "quiet text"),
                    Cell(command, "code text"),
                ]
            )
    columns = ["run", "seed", "state", "versions", "command that made it"]
    blocks.append(Table("Runs", columns, rows))
    recipe = study.recipe
    if recipe is None:
        blocks.append(Note("No configuration can be read.", "missing"))
    else:
        mapping = recipe.as_mapping()
        shared = {k: v for k, v in mapping.items() if k not in ("weighter", "seed", "small")}
        text = yaml.safe_dump(shared, sort_keys=False, allow_unicode=True, width=88)
        blocks.append(Listing("Configuration that the runs share", text))
        weighters = {
            label: next(
                (dict(run.recipe.weighter.as_mapping()) for run in study.runs[label] if run.recipe),
                None,
            )
            for label in study.labels
        }
        text = yaml.safe_dump(weighters, sort_keys=False, allow_unicode=True, width=88)
        blocks.append(Listing("Options of the weighters", text))
    events = [
        [Cell(run.name, "head"), Cell(str(step)), Cell(text, "text")]
        for run in study.all
        for step, text in run.events[:50]
    ]
    if events:
        blocks.append(
            Table("Events during training", ["run", "step", "what happened"], events[:200])
        )
    return Section(
        "made",
        "How it was made",
        "Everything needed to run it again.",
        blocks,
    )
