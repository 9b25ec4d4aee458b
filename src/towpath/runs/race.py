"""The record of a race in `records.jsonl`: who leads, and how the arms stand.

Numbers of a record are finite or null. A gain is null if the scores of one side came to nothing,
and `not_finite` beside it says of which: those of the arm itself, or of the baseline.
"""

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

NOT_FINITE = "not_finite"
ARM, BASELINE = "arm", "baseline"
"""whose scores on the judges were not finite, where a gain is null"""


def race_as_json(record: RaceRecord) -> dict[str, Json]:
    """Return the plain values from which `race_from_json` makes the record."""
    content: dict[str, Json] = {"leader": record.leader}
    if record.led:
        content["led"] = record.led
    if record.standings:
        content["metric"] = record.metric
        content["standings"] = {
            name: _standing_as_json(one) for name, one in record.standings.items()
        }
    for name, arms in (("dropped", record.dropped), ("broke", record.broke)):
        if arms:
            content[name] = list(arms)
    if record.ended:
        content |= {"ended": True, "share": record.share}
    return content


def _standing_as_json(one: Standing) -> dict[str, Json]:
    content: dict[str, Json] = {"gain": _plain(one.gain), "error": _plain(one.error)}
    if math.isinf(one.gain):
        content[NOT_FINITE] = BASELINE if one.gain > 0 else ARM
    return content | {"judges": one.judges}


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
    # records of earlier releases do not say whose they were, and mostly they were the arm's
    broken = text_at(content, NOT_FINITE) if NOT_FINITE in content else ARM
    if broken not in (ARM, BASELINE):
        raise TypeError(f"{NOT_FINITE} is {broken!r}, neither {ARM!r} nor {BASELINE!r}")
    if math.isnan(gain):
        gain = math.inf if broken == BASELINE else -math.inf
    return Standing(
        gain,
        math.inf if math.isnan(error) else error,  # a single judge
        count_at(content, "judges"),
    )
