"""Loggers get the figures of the records, and change nothing else."""

from types import SimpleNamespace

import pytest

from tests.training.runs import Killed, Silent, Stopping, outcome, records, run, tiny
from towpath.recipes.typed import RecipeError
from towpath.training import train
from towpath.training.logging_reporter import LoggingReporter

SHORT = {"steps": 8, "horizon": 2, "meta_batch_size": 2}


class Kept:
    """A logger that keeps what it is told."""

    def __init__(self):
        self.runs, self.scalars, self.ends = [], [], []

    def begin(self, run):
        self.runs.append(run)

    def log(self, values, step):
        self.scalars += [(name, value, step) for name, value in values.items()]

    def close(self, finished):
        self.ends.append(finished)

    def named(self, start):
        return [scalar for scalar in self.scalars if scalar[0].startswith(start)]


def test_the_scalars_are_those_of_the_records(tmp_path):
    kept, other = Kept(), Kept()
    recipe = tiny(training=SHORT)
    reporter = LoggingReporter(Silent(), tmp_path / "run", [kept, other])
    train(tmp_path / "run", recipe, reporter)
    reporter.close()
    lines = records(tmp_path / "run")
    losses = [
        ("training/loss", r["loss"], r["step"]) for r in lines if r["step"] % 2 == 0 and "loss" in r
    ]
    assert kept.named("training/loss") == losses
    (validation,) = (r["validation"] for r in lines if "validation" in r)
    assert kept.named("validation") == [
        ("validation/score", validation["mean"], 8),
        *((f"validation/{name}", one["mean"], 8) for name, one in validation["others"].items()),
    ]
    beside = ["test/glyphs/roc_auc", "test/glyphs/average_precision", "test/glyphs/loss"]
    assert [name for name, _, _ in kept.named("test")] == ["test/glyphs/score", *beside]
    assert other.scalars == kept.scalars
    assert kept.ends == [True]
    (told,) = kept.runs
    assert (told.folder, told.step) == (tmp_path / "run", 0)
    assert told.settings["optimizer.meta_lr"] == "0.01"
    assert told.settings["seed"] == "0"
    assert outcome(tmp_path / "run") == outcome(run(tmp_path / "plain", recipe))


def test_a_run_that_was_stopped_is_not_told_as_finished(tmp_path):
    kept = Kept()
    reporter = LoggingReporter(Stopping(4, Killed), tmp_path / "run", [kept])
    with pytest.raises(Killed):
        train(tmp_path / "run", tiny(training=SHORT), reporter)
    reporter.close()
    reporter.close()
    assert kept.ends == [False]


def test_a_logger_that_never_began_is_not_closed(tmp_path):
    kept = Kept()
    LoggingReporter(Silent(), tmp_path / "run", [kept]).close()
    assert kept.ends == []


class Broken(Kept):
    """A logger whose server goes away."""

    def __init__(self, *fails):
        super().__init__()
        self.fails = fails

    def begin(self, run):
        if "begin" in self.fails:
            raise OSError("no route to host")

    def log(self, values, step):
        if "log" in self.fails:
            raise OSError("no route to host")

    def close(self, finished):
        super().close(finished)
        if "close" in self.fails:
            raise OSError("no route to host")


def test_a_tracker_that_fails_in_between_does_not_cost_the_training(tmp_path, caplog):
    kept = Kept()
    reporter = LoggingReporter(Silent(), tmp_path / "run", [Broken("log"), kept])
    train(tmp_path / "run", tiny(training=SHORT), reporter)
    assert len(caplog.messages) == 1
    assert "Broken failed at step 2 (no route to host): training goes on" in caplog.text
    assert kept.named("test")


def test_a_tracker_that_cannot_begin_is_refused_and_leaves_nothing(tmp_path):
    reporter = LoggingReporter(Silent(), tmp_path / "run", [Broken("begin")])
    with pytest.raises(RecipeError, match=r"Broken cannot begin \(no route to host\)"):
        train(tmp_path / "run", tiny(training=SHORT), reporter)
    assert not (tmp_path / "run").exists()


def test_a_tracker_that_fails_at_closing_leaves_none_of_the_others_open(tmp_path, caplog):
    silenced, broken, kept = Broken("log", "close"), Broken("close"), Kept()
    reporter = LoggingReporter(Silent(), tmp_path, [silenced, broken, kept])
    reporter.began(SimpleNamespace(recipe=tiny()), 0)
    reporter.validated(2, SimpleNamespace(mean=0.5, others={}), best=True)
    reporter.close()
    # one that failed before is closed as well, for it may hold files or threads
    assert [logger.ends for logger in (silenced, broken, kept)] == [[False], [False], [False]]
    assert "Broken could not be closed (no route to host)" in caplog.text
    reporter.close()
    assert kept.ends == [False]
