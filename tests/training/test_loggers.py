"""Each logger with the real package, where it is installed; the packages are extras.

`make install` installs TensorBoard and MLflow; for W&B: pip install 'towpath[wandb]'.
"""

import warnings
from pathlib import Path

import pytest

from tests.refusal import refused
from tests.training.runs import Killed, Silent, Stopping, records, tiny
from towpath.recipes.typed import RecipeError
from towpath.runs.folder import RunFolder
from towpath.training import resume, train
from towpath.training.loggers import LOGGERS, make_loggers
from towpath.training.logging_reporter import LoggingReporter

RECIPE = tiny(training={"steps": 8, "horizon": 2, "meta_batch_size": 2, "checkpoint_every": 2})


def losses(path: Path) -> dict[int, float]:
    """Loss by step, as it is logged: of the last mini-batch of each window of two."""
    return {r["step"]: r["loss"] for r in records(path) if "loss" in r and r["step"] % 2 == 0}


def logged(name: str, path: Path) -> None:
    """Train with a logger, with an interruption after step 4 that loses nothing but time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages, which warn of their own dependencies
        first = LoggingReporter(Stopping(4, KeyboardInterrupt), path, make_loggers([name]))
        with pytest.raises(KeyboardInterrupt):
            train(path, RECIPE, first)
        first.close()
        second = LoggingReporter(Silent(), path, make_loggers([name]))
        resume(path, second)
        second.close()


def test_tensorboard_has_the_curves_of_the_records(tmp_path):
    pytest.importorskip("tensorboard", reason="the extra tensorboard is not installed")
    logged("tensorboard", tmp_path / "run")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    found = {event.step: event.value for event in events.Scalars("training/loss")}
    assert found == pytest.approx(losses(tmp_path / "run"), rel=1e-6)  # float32 in event files
    (test,) = events.Scalars("test/glyphs/score")
    summary = RunFolder(tmp_path / "run").summary()
    assert summary is not None
    assert test.value == pytest.approx(summary.score.mean, rel=1e-6)


def test_mlflow_has_the_curves_in_one_run_of_its_file_store(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # so that the test leaves no variable
    path = tmp_path / "run's"
    logged("mlflow", path)
    client = mlflow.MlflowClient(tracking_uri=(path / "mlflow").as_uri())
    experiment = client.get_experiment_by_name("tiny")
    (kept,) = client.search_runs([experiment.experiment_id])
    assert kept.info.status == "FINISHED"
    assert kept.data.params["optimizer.meta_lr"] == "0.01"
    history = client.get_metric_history(kept.info.run_id, "training/loss")
    assert {point.step: point.value for point in history} == losses(path)
    assert "test/glyphs/score" in kept.data.metrics


def test_mlflow_is_told_of_a_run_that_did_not_end(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "server").as_uri())
    reporter = LoggingReporter(Stopping(2, Killed), tmp_path / "run", make_loggers(["mlflow"]))
    with pytest.raises(Killed):
        train(tmp_path / "run", RECIPE, reporter)
    reporter.close()
    client = mlflow.MlflowClient(tracking_uri=(tmp_path / "server").as_uri())
    experiment = client.get_experiment_by_name("tiny")
    (kept,) = client.search_runs([experiment.experiment_id])
    assert kept.info.status == "KILLED"
    assert not (tmp_path / "run" / "mlflow").exists()


def test_wandb_logs_offline(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="the extra wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    path = tmp_path / "run"
    logged("wandb", path)
    wandb.teardown()  # its own process writes the files, and ends now
    files = sorted((path / "wandb").glob("offline-run-*/run-*.wandb"))
    assert len({file.name for file in files}) == 1  # of one id, before and after the interruption
    kept = b"".join(file.read_bytes() for file in files)
    assert kept.count(b"training/loss") >= len(losses(path))  # names and numbers, as protobuf
    assert b"test/glyphs/score" in kept


@pytest.mark.parametrize("name", LOGGERS)
def test_a_package_that_is_missing_is_told_with_its_extra(name, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("towpath.training.loggers.find_spec", lambda package: None)
    monkeypatch.chdir(tmp_path)
    said = refused(["train", "quick", "--logger", name, "--out", "run"], capsys)
    assert f"found no package {LOGGERS[name].package}" in said
    assert f"pip install 'towpath[{name}]'" in said
    assert not (tmp_path / "run").exists()


def test_a_logger_that_nobody_knows_is_refused_with_the_nearest():
    with pytest.raises(RecipeError, match=r"Did you mean 'tensorboard'\?"):
        make_loggers(["tensorbord"])
