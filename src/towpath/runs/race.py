"""The record of a race in `records.jsonl`: who leads, and how the arms stand."""

import math

from towpath.metrics import METRICS
from towpath.runs.plain import (
    Json,
    JsonObject,
    count_at,
    figure_at,
    known_at,
    object_of,
    text_at,
)
from towpath.weighters.race.judges import ACCURACY
from towpath.weighters.race.record import RaceRecord
from towpath.weighters.race.standing import Standing


def race_as_json(record: RaceRecord) -> dict[str, Json]:
    """Return the plain values from which `race_from_json` makes the record."""
    content: dict[str, Json] = {"leader": record.leader}
    if record.led:
        content["led"] = record.led
    if record.standings:
        content["metric"] = record.metric
        content["standings"] = {
            name: {"gain": _plain(one.gain), "error": _plain(one.error), "judges": one.judges}
            for name, one in record.standings.items()
        }
    for name, arms in (("dropped", record.dropped), ("broke", record.broke)):
        if arms:
            content[name] = list(arms)
    if record.ended:
        content |= {"ended": True, "share": record.share}
    return content


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def race_from_json(found: Json) -> RaceRecord:
    """Return the record that a line holds; raise TypeError or KeyError if it holds none."""
    content = object_of(found, "the record of a race")
    standings = object_of(content.get("standings") or {}, "the standings of a race")
    return RaceRecord(
        leader=text_at(content, "leader"),
        led=text_at(content, "led") if "led" in content else "",
        standings={
            name: _standing(object_of(one, "a standing")) for name, one in standings.items()
        },
        metric=METRICS[text_at(content, "metric")].name if standings else ACCURACY,
        share=known_at(content, "share") or 0.0,
        dropped=_arms(content, "dropped"),
        broke=_arms(content, "broke"),
        ended=bool(content.get("ended", False)),
    )


def _arms(content: JsonObject, key: str) -> tuple[str, ...]:
    found = content.get(key, [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise TypeError(f"{key} is {found!r}, not a list of arms")
    return tuple(str(name) for name in found)


def _standing(content: JsonObject) -> Standing:
    gain, error = figure_at(content, "gain"), figure_at(content, "error")
    return Standing(
        -math.inf if math.isnan(gain) else gain,  # an arm that broke
        math.inf if math.isnan(error) else error,  # a single judge
        count_at(content, "judges"),
    )
