"""How a run tells whoever started it how it goes: an event a line, as JSON, between processes."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TypeAlias

from towpath.runs.plain import count_at, object_of, plain_json, text_at
from towpath.runs.scores import ScoreSummary


@dataclass(frozen=True)
class Began:
    """Training starts, or goes on, at a step of so many."""

    step: int
    steps: int


@dataclass(frozen=True)
class Stepped:
    """Training has come to a step of so many."""

    step: int
    steps: int


@dataclass(frozen=True)
class Ended:
    """The run has its final figures."""

    test: Mapping[str, ScoreSummary]
    """the score on each test set"""


@dataclass(frozen=True)
class Failed:
    """The run failed; the last event of its process."""

    reason: str


Event: TypeAlias = "Began | Stepped | Ended | Failed"
KINDS: Mapping[str, type[Event]] = {
    "began": Began,
    "stepped": Stepped,
    "ended": Ended,
    "failed": Failed,
}


def event_line(event: Event) -> str:
    """The event as a line of text."""
    kind = next(name for name, known in KINDS.items() if isinstance(event, known))
    return json.dumps(plain_json({"kind": kind, **asdict(event)})) + "\n"


def event_of_line(line: str) -> Event:
    """The event of a line; TypeError or KeyError if it is none."""
    content = object_of(json.loads(line), "an event")
    kind = KINDS[text_at(content, "kind")]
    if kind is Ended:
        test = object_of(content["test"], "a score for each test set")
        return Ended(
            {n: ScoreSummary.from_json(object_of(one, "a score")) for n, one in test.items()}
        )
    if kind is Failed:
        return Failed(text_at(content, "reason"))
    step, steps = count_at(content, "step"), count_at(content, "steps")
    return Began(step, steps) if kind is Began else Stepped(step, steps)
