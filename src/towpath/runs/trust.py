"""What a run thinks of its trusted tasks: between two windows, and at each check of them.

Tasks are named by their position among the trusted tasks, which is the `index` of their records.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from towpath.runs.plain import (
    Json,
    JsonObject,
    count_at,
    figures_at,
    is_count,
    object_of,
    text_at,
)
from towpath.wording import amount


@dataclass(frozen=True)
class Trust:
    """Which trusted tasks training leaves out; a part of its state."""

    suspects: tuple[int, ...] = ()
    """tasks that the last check doubted; those that the next one doubts again are left out"""
    left_out: tuple[int, ...] = ()
    """tasks that are not trusted any more: neither targets nor judges, nor trained on as trusted"""
    unusable: str = ""
    """why no trusted task is used any more, as a sentence; empty while they are"""

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes it again."""
        return {
            "suspects": self.suspects,
            "left_out": self.left_out,
            "unusable": self.unusable,
        }

    @classmethod
    def from_json(cls, content: JsonObject) -> "Trust":
        """Return what a file holds; raise TypeError or KeyError if it is not complete."""
        return cls(
            positions_at(content, "suspects"),
            positions_at(content, "left_out"),
            text_at(content, "unusable"),
        )


ALL_TRUSTED = Trust()


@dataclass(frozen=True, slots=True)
class TrustCheck:
    """The outcome of a check of the trusted tasks at a step."""

    evidence: Sequence[float | None]
    """for each trusted task, how much better its labels are than shuffled ones, in standard
    deviations; None where that is undefined. Empty before training, when only repetitions count"""
    training: Sequence[float | None]
    """the same of fresh training tasks"""
    trust: Trust
    """what training does from then on"""
    named: Mapping[int, str]
    """the tasks that are left out, in words: group and classes"""
    repeated: Mapping[int, int] = field(default_factory=dict)
    """tasks with the same samples as an earlier one, and which one"""

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes it again."""
        content: dict[str, Json] = {
            "evidence": self.evidence,
            "training": self.training,
            **self.trust.as_json(),
            "named": {str(i): words for i, words in self.named.items()},
        }
        if self.repeated:
            content["repeated"] = {str(i): other for i, other in self.repeated.items()}
        return content

    @classmethod
    def from_json(cls, content: JsonObject) -> "TrustCheck":
        """Return what a line holds; raise ValueError, TypeError or KeyError if it is no check."""
        named = object_of(content["named"], "tasks by position")
        repeated = object_of(content.get("repeated") or {}, "tasks by position")
        return cls(
            evidence=figures_at(content, "evidence"),
            training=figures_at(content, "training"),
            trust=Trust.from_json(content),
            named={int(i): str(words) for i, words in named.items()},
            repeated={int(i): count_at(repeated, i) for i in repeated},
        )

    @property
    def wrong(self) -> tuple[int, ...]:
        """The tasks that are left out because their labels say nothing."""
        return tuple(i for i in self.trust.left_out if i not in self.repeated)

    def sentence(self) -> str:
        """Return what the check found and what follows from it; empty if nothing is left out."""
        if self.trust.unusable:
            return self.trust.unusable
        parts = []
        if self.wrong:
            kept = [z for i, z in enumerate(self.evidence) if i not in self.trust.left_out]
            one = len(self.wrong) == 1
            parts.append(
                f"The labels of {amount(len(self.wrong), 'trusted task')} of "
                f"{len(self.evidence)} ({listed(self.wrong)}) are no better than shuffled ones "
                f"(evidence {_mean([self.evidence[i] for i in self.wrong])}, of the others "
                f"{_mean(kept)}): {'it is' if one else 'they are'} not trusted any more, neither "
                f"{'a target nor a judge' if one else 'targets nor judges'}."
            )
        if self.repeated:
            parts.append(repeated_sentence(self.repeated))
        return " ".join(parts)


def repeated_sentence(repeated: Mapping[int, int]) -> str:
    """Return the sentence on trusted tasks that are the same as an earlier one."""
    one = len(repeated) == 1
    said = f"{amount(len(repeated), 'trusted task')} ({listed(tuple(repeated))}) "
    return said + (
        f"{'has' if one else 'have'} the same samples as an earlier one and "
        f"{'counts' if one else 'count'} once: {'it is' if one else 'they are'} neither "
        f"{'a target nor a judge' if one else 'targets nor judges'}."
    )


def listed(positions: Sequence[int], most: int = 12) -> str:
    """Return the positions of tasks in words, the first ones where there are many.

    >>> listed((3,)), listed((3, 5, 8))
    ('number 3', 'numbers 3, 5 and 8')
    """
    shown = [str(i) for i in positions[:most]]
    if len(positions) > most:
        return f"numbers {', '.join(shown)} and {len(positions) - most} more"
    if len(shown) == 1:
        return f"number {shown[0]}"
    return f"numbers {', '.join(shown[:-1])} and {shown[-1]}"


def positions_at(content: JsonObject, key: str) -> tuple[int, ...]:
    """Return the positions of tasks under a key; raise KeyError or TypeError if there are none."""
    found = content[key]
    if not isinstance(found, list) or not all(map(is_count, found)):
        raise TypeError(f"{key} is {repr(found)[:80]}, not a list of positions")
    return tuple(i for i in found if isinstance(i, int))


def _mean(values: Sequence[float | None]) -> str:
    known = [z for z in values if z is not None and math.isfinite(z)]
    return f"{sum(known) / len(known):.1f}" if known else "unknown"
