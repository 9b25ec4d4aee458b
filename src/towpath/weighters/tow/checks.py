"""Checks of TOW's options, made before anything is planned."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from towpath.control import BOUNDS, Convex, bounds_of
from towpath.control.bounds import Unbounded
from towpath.validation import at_least, check_whole
from towpath.weighters.tow.cost import Cost

if TYPE_CHECKING:
    from towpath.weighters.tow.options import TOW

ON_A_PART: Mapping[str, tuple[Any, ...]] = {
    "iterations": (0, 1),
    "curvature": ("none",),
    "adjoint": ("model",),
    "nominal": ("uniform",),
}
"""options of a plan on a part of the query sets: it has one trial, and no quadratic term"""


def check_numbers(tow: "TOW") -> None:
    """Raise a ValueError for a number out of its range."""
    if tow.beta != "auto":
        at_least("TOW", "beta", tow.beta, 0.0)
        if tow.beta == 0:
            raise ValueError(
                "TOW found beta=0; expected beta > 0 (the prior keeps the problem bounded) "
                "or beta='auto'."
            )
    if tow.mu is not None:
        at_least("TOW", "mu", tow.mu, 0.0)
    at_least("TOW", "spread", tow.spread, 0.0)
    if tow.spread == 0:
        raise ValueError(
            "TOW found spread=0; expected spread > 0 (0 would keep the weights uniform). Train "
            "with uniform weights instead."
        )
    at_least("TOW", "tolerance", tow.tolerance, 0.0)
    for name, low in (("iterations", 0), ("probes", 1), ("max_trials", 1)):
        check_whole("TOW", name, getattr(tow, name), low)
    at_least("TOW", "sufficient_decrease", tow.sufficient_decrease, 0.0)
    if not 0 < tow.sufficient_decrease < 1:
        raise ValueError(
            f"TOW found sufficient_decrease={tow.sufficient_decrease}; expected between 0 "
            "and 1 (the paper: 0.5)."
        )


def check_together(tow: "TOW") -> None:
    """Raise a ValueError for options that do not go together."""
    if tow.shrink == "agreement" and tow.beta != "auto":
        raise ValueError(
            f"TOW found shrink='agreement' with beta={tow.beta}; agreement scales the spread, "
            "which only beta='auto' uses. Set beta='auto' or drop shrink."
        )
    if tow.scale == "mini-batch" and tow.beta != "auto":
        raise ValueError(
            f"TOW found scale='mini-batch' with beta={tow.beta}; only beta='auto' is scaled. "
            "Set beta='auto' or drop scale."
        )
    if tow.probes > 1 and tow.curvature in ("none", "gauss-newton-exact"):
        raise ValueError(
            f"TOW found probes={tow.probes} with curvature={tow.curvature!r}, which draws no "
            "probe; expected 'gauss-newton' or 'hutchinson'. Choose one of them or drop probes."
        )
    if (tow.normalise == "softmax") != isinstance(bounds_of(tow.bounds), Unbounded):
        raise ValueError(
            f"TOW found normalise={tow.normalise!r} with bounds={tow.bounds!r}; expected "
            "bounds='none' with 'softmax' (its weights are positive by themselves) and only "
            "there."
        )
    _check_about_a_weighter(tow)
    if tow.cost is None:
        return
    if not isinstance(tow.cost, Cost):
        raise ValueError(
            f"TOW found cost={tow.cost!r}; expected None, or an object of a class derived from "
            "towpath.weighters.tow.cost.Cost."
        )
    if tow.terminal == "replay":
        raise ValueError(
            f"TOW found terminal='replay' with cost={type(tow.cost).__name__}(...); a cost of your "
            "own says itself what counts after the last step. Use terminal='none' with it."
        )


def _check_about_a_weighter(tow: "TOW") -> None:
    """Raise a ValueError for options that a plan about a weighter's weights cannot have."""
    if isinstance(tow.nominal, str):
        return
    name = type(tow.nominal).__name__
    if tow.normalise == "softmax":
        raise ValueError(
            f"TOW found nominal={name}(...) with normalise='softmax'; a weight of 0, which a "
            "weighter may give, has no logit. Use normalise='none' with bounds='simplex'."
        )
    if tow.mu is not None:
        raise ValueError(
            f"TOW found nominal={name}(...) with mu={tow.mu}; the prior's mean is the weighter's "
            "weights. Drop mu."
        )


def check_share(tow: "TOW") -> None:
    """Raise a ValueError for an invalid query share, or for options that do not go with a part."""
    if tow.query_share != "auto":
        at_least("TOW", "query_share", tow.query_share, 0.0)
        if not 0 < tow.query_share <= 1:
            raise ValueError(
                f"TOW found query_share={tow.query_share}; expected more than 0 and at most 1 "
                "(1: plan on whole query sets), or 'auto'."
            )
    if not tow.on_a_part:
        return
    for name, allowed in ON_A_PART.items():
        if getattr(tow, name) not in allowed:
            _refuse_on_a_part(tow, name, allowed)
    if not isinstance(bounds_of(tow.bounds), Convex):
        convex = tuple(word for word, bounds in BOUNDS.items() if isinstance(bounds, Convex))
        _refuse_on_a_part(tow, "bounds", convex)


def _refuse_on_a_part(tow: "TOW", name: str, allowed: tuple[Any, ...]) -> None:
    raise ValueError(
        f"TOW found {name}={getattr(tow, name)!r} with query_share="
        f"{tow.query_share!r}; a plan on a part of the query sets takes "
        f"{' or '.join(map(repr, allowed))} there. Start from tp.TOW.fast(), or plan "
        "with query_share=1."
    )
