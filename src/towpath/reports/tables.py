"""A comparison as a table for the terminal."""

from typing import Any

from rich.table import Table


def comparison_table(result: dict[str, Any]) -> Table:
    """One row a weighter, means over its seeds, paired differences to the baseline."""
    name = result["recipe"] + (" (synthetic data)" if result.get("synthetic") else "")
    sets = list(result["runs"][0]["test"]) if result["runs"] else []
    baseline = result["baseline"]
    table = Table(title=f"{name}: {len(result['seeds'])} seed(s)", title_justify="left")
    table.add_column("weighter")
    for test in sets:
        table.add_column(f"{test}\naccuracy %", justify="right")
        table.add_column(f"minus {baseline}\n(95% interval)", justify="right")
    table.add_column("worst\ntenth", justify="right")
    table.add_column("wrong : clean\nweight", justify="right")
    table.add_column("gradient\nevaluations", justify="right")
    table.add_column("training\nseconds", justify="right")
    table.add_column("overhead", justify="right")
    for label in result["weighters"]:
        runs = [run for run in result["runs"] if run["label"] == label]
        if not runs:
            table.add_row(label, "not run")
            continue
        partly = f" ({len(runs)} of {len(result['seeds'])} seeds)"
        cells = [label + partly if len(runs) < len(result["seeds"]) else label]
        for test in sets:
            scale = 100.0 if runs[0]["test"][test]["metric"] == "accuracy" else 1.0
            mean = scale * _mean([run["test"][test]["mean"] for run in runs])
            width = scale * _mean([run["test"][test]["interval"] or 0.0 for run in runs])
            cells += [f"{mean:.1f} ±{width:.1f}", _difference(result, label, test, scale)]
        ratios = [run["weight_by_label"]["ratio"] for run in runs if run["weight_by_label"]]
        overheads = [o for run in runs if (o := run["timing"].get("overhead"))]
        cells += [
            f"{100 * _mean([run['worst_tenth'] for run in runs]):.1f}",
            f"{_mean(ratios):.2f} : 1" if ratios else "-",
            f"{_mean([run['evaluations'] for run in runs]):.0f}",
            f"{_mean([run['timing']['training_seconds'] for run in runs]):.0f}",
            f"{_mean(overheads):.2f}x" if overheads else "-",
        ]
        table.add_row(*cells)
    return table


def _difference(result: dict[str, Any], label: str, test: str, scale: float) -> str:
    if label == result["baseline"]:
        return "-"
    difference = result["differences"].get(label, {}).get(test)
    if difference is None:
        return "not run"
    mark = "" if difference["excludes_zero"] else " (n.s.)"
    return f"{scale * difference['mean']:+.1f} ±{scale * difference['interval']:.1f}{mark}"


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
