"""The examples run, show what they promise, and say truly how many lines towpath adds."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from examples import few_shot, frozen_backbone, multi_task, regression, sine

LOOPS = {
    "few_shot": 8,
    "frozen_backbone": 8,
    "multi_task": 9,
    "regression": 9,
    "lightning_callback": 27,
}
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


MARK = "  # towpath"


def added(name: str) -> tuple[list[str], list[str]]:
    """Return the lines that towpath adds to an example, and the plain loop that was there before.

    Added are the lines with the mark and the callback for Lightning. In the plain loop the lines
    kept as `# before:` are code again.
    """
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    callback = range(0)
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name == "TowpathCallback":
            callback = range(node.lineno - 1, node.end_lineno or 0)
    ours, plain = [], []
    for i, line in enumerate(text.splitlines()):
        if i in callback or line.endswith(MARK):
            ours += [line] if line.strip() else []
        elif "assert plan is not None" not in line:  # it is about what main shows
            plain.append(re.sub(r"# before: ", "", line))
    return ours, plain


@pytest.mark.parametrize("name", LOOPS)
def test_the_lines_that_towpath_adds_are_marked_and_counted(name):
    ours, plain = added(name)
    stated = re.search(r"adds (\d+) lines", "\n".join(plain))
    assert stated is not None
    assert len(ours) == int(stated.group(1)) == LOOPS[name]
    page = (EXAMPLES.parent / "docs" / "your-own-loop.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if f"[{name}.py]" in line)
    assert row.endswith(f"| {LOOPS[name]} |")


@pytest.mark.filterwarnings("ignore")  # Lightning's own
@pytest.mark.parametrize("name", LOOPS)
def test_without_those_lines_it_is_a_plain_loop_that_knows_nothing_of_towpath(name):
    """So no line is left out of the count, and none that a loop has anyway is in it."""
    if name == "lightning_callback":
        pytest.importorskip("lightning", reason="lightning is not installed: pip install lightning")
    text = "\n".join(added(name)[1])
    assert "import towpath" not in text
    unused = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--select", "F401,F811", "--isolated", "-"],
        input=text,
        text=True,
        capture_output=True,
        check=False,
    )
    assert unused.returncode == 0, unused.stdout + unused.stderr
    # what main says of its result, and returns, is there to be shown
    shown = {"tp": SimpleNamespace(Plan=object), "TowpathCallback": object}
    place: dict[str, object] = {"__name__": name, "plan": None, "callback": None, **shown}
    exec(compile(text, f"{name}, plain", "exec"), place)
    main = place["main"]
    assert callable(main)
    main()


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
    assert trained.windowed.windows == len(trained.plans) + 1, "the last batches count, too"
    mean = trained.plans[-1].weights.mean(0)
    assert mean[: example.WRONG].mean() < 0.7 * mean[example.WRONG :].mean()
