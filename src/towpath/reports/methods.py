"""Which of the paper's methods a weighter is, judged by its values and not by its name."""

from towpath.recipes.component import Component
from towpath.reports.differences import Difference
from towpath.reports.resolved import registered_weighter
from towpath.reports.sections import paper
from towpath.runs.study import Study


def method_of(component: Component) -> str:
    """Return the paper's method that a weighter implements, judged by its values, or "".

    >>> [method_of(Component(name)) for name in ("tow", "tow-faithful", "uniform")]
    ['', 'tow', 'uniform']
    >>> method_of(Component("tow-faithful", {"beta": 1.0})), method_of(Component("exploration"))
    ('', 'exploration')
    """
    own = registered_weighter(component)
    return next(
        (
            method
            for method, name in paper.METHODS.items()
            if own == registered_weighter(Component(name))
        ),
        "",
    )


def label_method(study: Study, label: str) -> str:
    """Return the paper's method that all runs under a label implement, or "" if there is none."""
    methods = {method_of(run.recipe.weighter) for run in study.runs[label] if run.recipe}
    return methods.pop() if len(methods) == 1 else ""


def label_of(study: Study, weighter: str) -> str | None:
    """Return the label under which a registered weighter ran with its defaults, else None."""
    wanted = registered_weighter(Component(weighter))
    for label, runs in study.runs.items():
        own = [run for run in runs if run.recipe]
        if own and all(
            run.recipe and registered_weighter(run.recipe.weighter) == wanted for run in own
        ):
            return label
    return None


def weighter_difference(component: Component) -> str:
    """Describe how a weighter differs from the paper's; empty for one of the paper's."""
    if method_of(component):
        return ""
    name = component.name
    entry, own = registered_weighter(Component(name)), registered_weighter(component)
    if name == paper.OURS and own == entry:
        return "ours: not the paper's TOW"
    if entry is None or own is None or name not in (*paper.METHODS.values(), paper.OURS):
        return "not a weighter of the paper"
    changed = [
        str(Difference(f"weighter.{key}", value, own.options[key]))
        for key, value in entry.options.items()
        if own.options[key] != value
    ]
    return "; ".join(changed)
