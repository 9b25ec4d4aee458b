"""Named sets of weighters: all that a recipe can run, and those that a referee will ask for."""

from collections.abc import Mapping

from towpath.weighters.registry import WEIGHTERS, WeighterEntry
from towpath.wording import nearest, quoted

ALL, REFEREE = "all", "referee"
REFEREES: Mapping[str, str] = {
    "uniform": "the baseline that every difference is taken to",
    "exploitation": "the strongest of the paper's own baselines under wrong labels",
    "trim": "the simplest rule that knows that wrong tasks have high losses",
    "mixture": "the strongest rule without targets: it beat us under wrong labels",
    "above-chance": "what anybody would try first against labels without meaning",
    "l2rw": "the best known rule with targets: one step ahead, nothing shrunk",
    "opus": "the same in the optimiser's own geometry, by a softmax",
    "mwl-maml": "the best known rule with targets in meta-learning: several looks ahead",
    "doge": "targets by group, where single tasks are too noisy",
    "tow-targets": "ours",
    "oracle": "the bound, where labels are wrong on purpose",
}
"""the curated set, each with the reason why a referee will ask for it"""


def expanded(words: list[str], *, trusted: bool, mislabelled: bool) -> list[str]:
    """Return the weighters that `compare --weighters` names, with `all` and `referee` expanded.

    Args:
        words: names of weighters, with options or without, and names of sets.
        trusted: whether the recipe has trusted tasks; without them the sets leave out the weighters
            that need them.
        mislabelled: whether the recipe makes tasks wrong on purpose, by their labels or by another
            set; without that the oracle has nothing to know.

    Raises:
        ValueError: if a word is neither a weighter nor a set.
    """
    found: list[str] = []
    for word in words:
        chosen = {ALL: list(WEIGHTERS), REFEREE: list(REFEREES)}.get(word.strip())
        if chosen is None:
            _refuse_unknown(word.strip())
            found.append(word)
            continue
        found += [
            name
            for name in chosen
            if name not in found
            and (trusted or not _needs_trusted(WEIGHTERS[name]))
            and (mislabelled or name != "oracle")
        ]
    return found


def _refuse_unknown(word: str) -> None:
    """Raise a ValueError for a word that no weighter or set has; a user's own class is let pass."""
    name, *settings = word.split(":")
    own_class = "." in name or (settings and settings[0].isidentifier())
    if name not in WEIGHTERS and not own_class:
        known = [*sorted(WEIGHTERS), ALL, REFEREE]
        raise ValueError(
            f"A comparison of the weighter {quoted(name)} was asked for; expected some of "
            f"{', '.join(known[:-2])}, or one of the sets {ALL} and {REFEREE} without options."
            f"{nearest(name, known)}"
        )


def _needs_trusted(entry: WeighterEntry) -> bool:
    return entry.wants_targets({}) or bool(getattr(entry.make, "needs_trusted", False))
