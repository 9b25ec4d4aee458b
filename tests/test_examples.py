"""The examples run, show what they promise, and say truly how many lines towpath adds."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from examples import few_shot, frozen_backbone, multi_task, regression, sine

LOOPS = {"few_shot": 6, "frozen_backbone": 6, "multi_task": 7, "regression": 7}
EXAMPLES = Path(inspect.getfile(sine)).parent


def test_trusted_sine_waves_take_weight_from_the_wrong_ones(tmp_path):
    plan = sine.main(tmp_path)
    wrong, clean = plan.weights[:, :3].mean(), plan.weights[:, 3:].mean()
    assert wrong < 0.7 * clean
    assert (tmp_path / "sine.png").stat().st_size > 5000


def test_a_few_shot_loop_turns_away_from_wrong_tasks():
    plan = few_shot.main()
    wrong, clean = plan.weights[:, : few_shot.WRONG], plan.weights[:, few_shot.WRONG :]
    assert wrong.mean() < 0.5 * clean.mean()


def test_a_head_on_a_frozen_backbone_learns_from_the_right_tasks():
    plan, accuracy = frozen_backbone.main()
    wrong, clean = (
        plan.weights[:, : frozen_backbone.WRONG],
        plan.weights[:, frozen_backbone.WRONG :],
    )
    assert wrong.mean() < 0.5 * clean.mean()
    assert accuracy > 0.8


def test_a_regression_loop_turns_away_from_wrong_sensors():
    plan, error = regression.main()
    wrong, clean = plan.weights[:, : regression.WRONG], plan.weights[:, regression.WRONG :]
    assert wrong.mean() < 0.5 * clean.mean()
    assert error < 0.5


def test_two_losses_in_one_loop_turn_away_from_the_wrong_camera():
    plan, accuracy, error = multi_task.main()
    wrong, clean = plan.weights[:, : 2 * multi_task.WRONG], plan.weights[:, 2 * multi_task.WRONG :]
    assert wrong.mean() < 0.5 * clean.mean()
    assert accuracy > 0.8
    assert error < 0.5


@pytest.mark.parametrize("name", LOOPS)
def test_the_lines_that_towpath_adds_are_marked_and_counted(name):
    lines = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()
    marked = [line for line in lines if line.endswith("  # towpath")]
    docstring = ast.get_docstring(ast.parse("\n".join(lines))) or ""
    stated = re.search(r"adds (\d+) lines", docstring)
    assert stated is not None
    assert len(marked) == int(stated.group(1)) == LOOPS[name]
    # no line of code that names something of towpath's lacks the mark, but for what main returns
    body = lines[len(docstring.splitlines()) + 1 :]
    names = re.compile(r"\btp\.|windowed|objective|stepping")
    unmarked = [line for line in body if names.search(line) and line not in marked]
    assert [line for line in unmarked if not line.startswith("def main()")] == []
    assert sum(line.strip().startswith("# before:") for line in lines) >= 3


@pytest.mark.filterwarnings("ignore")  # Lightning's own
def test_a_lightning_callback_of_at_most_30_lines_trains_with_planned_weights():
    text = (EXAMPLES / "lightning_callback.py").read_text(encoding="utf-8")
    callback = next(
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and node.name == "TowpathCallback"
    )
    assert (callback.end_lineno or 0) - callback.lineno + 1 <= 30
    pytest.importorskip("lightning", reason="lightning is not installed: pip install lightning")
    from examples import lightning_callback as example

    trained = example.main()
    assert len(trained.plans) == example.BATCHES // 5
    mean = trained.plans[-1].weights.mean(0)
    assert mean[: example.WRONG].mean() < 0.7 * mean[example.WRONG :].mean()
