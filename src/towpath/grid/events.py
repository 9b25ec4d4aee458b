"""Events by which a run reports its progress to the process that started it, one JSON per line."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TypeAlias

from towpath.runs.plain import Json, count_at, object_of, plain_json, text_at
from towpath.runs.scores import ScoreSummary


@dataclass(frozen=True)
class Began:
    """Training starts, or is resumed, at step `step` of `steps`."""

    step: int
    steps: int


@dataclass(frozen=True)
class Stepped:
    """Training has reached step `step` of `steps`."""

    step: int
    steps: int


@dataclass(frozen=True)
class Ended:
    """The run has ended with these scores on its test sets."""

    test: Mapping[str, ScoreSummary]
    """the score on each test set"""


@dataclass(frozen=True)
class Failed:
    """The run failed for this reason; the last event of its process."""

    reason: str


Event: TypeAlias = "Began | Stepped | Ended | Failed"
KINDS: Mapping[str, type[Event]] = {
    "began": Began,
    "stepped": Stepped,
    "ended": Ended,
    "failed": Failed,
}


def event_line(event: Event) -> str:
    """Return the event as one line of JSON."""
    kind = next(name for name, known in KINDS.items() if isinstance(event, known))
    if isinstance(event, Ended):
        content: dict[str, Json] = {
            "test": {name: score.as_json() for name, score in event.test.items()}
        }
    else:
        content = asdict(event)
    return json.dumps(plain_json({"kind": kind, **content})) + "\n"


def event_of_line(line: str) -> Event:
    """Return the event that a line holds; raise TypeError or KeyError if it holds none."""
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
