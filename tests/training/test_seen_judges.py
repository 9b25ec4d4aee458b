"""Tasks that judge and were trained on: found in the records, and not asked again."""

from towpath.data.trusted import FixedTrusted
from towpath.runs.plain import Json
from towpath.runs.record_file import RecordWriter
from towpath.runs.records import StepRecord
from towpath.training.seen_judges import (
    trained_on_a_judge,
    unjudged_heats_note,
    without_seen_judges,
)
from towpath.training.setup import prepare
from towpath.weighters import Race, Uniform

from .runs import tiny


def record(window: int, **info: Json) -> StepRecord:
    return StepRecord(2 * window + 1, window, [1.0], [info], [0.5], 0.5)


def trusted(windows: int | None = 9) -> FixedTrusted:
    """Six trusted tasks, of which the last two judge."""
    found = prepare(tiny(trusted={"count": 6, "per_batch": 2})).trusted
    assert isinstance(found, FixedTrusted)
    return FixedTrusted(found.tasks, 2, 0, 2, windows)


def test_the_first_record_with_a_judge_is_found_before_a_line_that_is_cut_off(tmp_path):
    path, tasks = tmp_path / "records.jsonl", trusted()
    assert trained_on_a_judge(path, tasks) is None  # nothing is recorded yet
    with RecordWriter(path, 0) as writer:
        writer.write(record(0, index=5))  # a training task of that number
        writer.write(record(1, index=3, trusted=True))
    assert trained_on_a_judge(path, tasks) is None
    with path.open("ab") as file:
        file.write(b'{"kind": "st')
    assert trained_on_a_judge(path, tasks) is None
    with RecordWriter(path, path.read_bytes().rindex(b"\n") + 1) as writer:
        for window in (2, 3):
            writer.write(record(window, index=4, trusted=True))
    seen = trained_on_a_judge(path, tasks)
    assert seen is not None
    assert seen.window == 2
    assert trained_on_a_judge(path, FixedTrusted(tasks.tasks, 2, 0)) is None  # none judges


def test_none_judges_from_the_window_on_that_trained_on_one():
    seen = record(4, index=4, trusted=True)
    for windows in (9, None):
        found = without_seen_judges(trusted(windows), seen)
        assert found is not None
        assert [len(found.judges(window)) for window in (3, 4, 8)] == [2, 0, 0]
    early = without_seen_judges(trusted(3), seen)
    assert isinstance(early, FixedTrusted)
    assert early.judging_windows == 3  # as it is by itself
    tasks = trusted()
    assert without_seen_judges(tasks, None) is tasks
    assert without_seen_judges(None, seen) is None


def test_the_note_is_for_races_that_have_heats_ahead():
    recipe, seen = tiny(), record(4, index=4, trusted=True)  # 40 steps, and step 9
    race = Race(first=2, length=2, spacing=4.0)
    assert "were trained on from step 9 on" in unjudged_heats_note(recipe, race, seen)
    assert unjudged_heats_note(recipe, race, None) == ""
    assert unjudged_heats_note(recipe, Race(first=2, length=2, spacing=99.0), seen) == ""
    assert unjudged_heats_note(recipe, Uniform(), seen) == ""
