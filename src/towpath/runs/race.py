"""The record of a race in `records.jsonl`: who leads, and how the arms stand."""

import math

from towpath.runs.plain import Json, JsonObject, count_at, figure_at, object_of, text_at
from towpath.weighters.race.record import RaceRecord
from towpath.weighters.race.standing import Standing


def race_as_json(record: RaceRecord) -> dict[str, Json]:
    """Return the plain values from which `race_from_json` makes the record."""
    content: dict[str, Json] = {"leader": record.leader}
    if record.standings:
        content["standings"] = {
            name: {"gain": _plain(one.gain), "error": _plain(one.error), "judges": one.judges}
            for name, one in record.standings.items()
        }
    if record.dropped:
        content["dropped"] = list(record.dropped)
    if record.ended:
        content["ended"] = True
    return content


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def race_from_json(found: Json) -> RaceRecord:
    """Return the record that a line holds; raise TypeError or KeyError if it holds none."""
    content = object_of(found, "the record of a race")
    standings = object_of(content.get("standings") or {}, "the standings of a race")
    dropped = content.get("dropped") or []
    if not isinstance(dropped, list):
        raise TypeError(f"{dropped!r} is not a list of the arms that were dropped")
    return RaceRecord(
        leader=text_at(content, "leader"),
        standings={
            name: _standing(object_of(one, "a standing")) for name, one in standings.items()
        },
        dropped=tuple(str(name) for name in dropped),
        ended=bool(content.get("ended", False)),
    )


def _standing(content: JsonObject) -> Standing:
    gain, error = figure_at(content, "gain"), figure_at(content, "error")
    return Standing(
        -math.inf if math.isnan(gain) else gain,  # an arm that broke
        math.inf if math.isnan(error) else error,  # a single judge
        count_at(content, "judges"),
    )
