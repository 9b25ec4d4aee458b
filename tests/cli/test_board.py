"""TensorBoard gets the figures of the records, and changes nothing else."""

from tests.training.runs import Silent, outcome, records, run, tiny
from towpath.cli.board import BoardReporter
from towpath.training import train


class Writer:
    """Keeps what a SummaryWriter would write."""

    def __init__(self, folder, first_step):
        self.folder, self.first_step = folder, first_step
        self.scalars, self.closed = [], False

    def add_scalar(self, name, value, step):
        self.scalars.append((name, value, step))

    def close(self):
        self.closed = True


def test_the_scalars_are_those_of_the_records(tmp_path):
    made = []

    def make(folder, step):
        made.append(Writer(folder, step))
        return made[-1]

    recipe = tiny(training={"steps": 8, "horizon": 2, "meta_batch_size": 2})
    reporter = BoardReporter(Silent(), tmp_path / "run", make)
    train(tmp_path / "run", recipe, reporter)
    reporter.close()
    (writer,) = made
    assert writer.closed
    assert (writer.folder, writer.first_step) == (str(tmp_path / "run" / "tensorboard"), 1)
    lines = records(tmp_path / "run")
    losses = [
        ("training/loss", r["loss"], r["step"]) for r in lines if r["step"] % 2 == 0 and "loss" in r
    ]
    assert [scalar for scalar in writer.scalars if scalar[0] == "training/loss"] == losses
    (validation,) = (r["validation"] for r in lines if "validation" in r)
    validations = [("validation/score", validation["mean"], 8)]
    validations += [
        (f"validation/{name}", one["mean"], 8) for name, one in validation["others"].items()
    ]
    assert [
        scalar for scalar in writer.scalars if scalar[0].startswith("validation")
    ] == validations
    tests = [name for name, _, _ in writer.scalars if name.startswith("test")]
    beside = ["test/glyphs/roc_auc", "test/glyphs/average_precision", "test/glyphs/loss"]
    assert tests == ["test/glyphs", *beside]
    assert outcome(tmp_path / "run") == outcome(run(tmp_path / "plain", recipe))
