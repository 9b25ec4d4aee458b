"""The report's numbers against the files, and what it says of runs that are not whole."""

import json
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.reports import synthetic
from tests.reports.reading import Page
from towpath.cli.main import main
from towpath.reports.page import write_report
from towpath.runs.judged import weight_by_label
from towpath.runs.read import read_run
from towpath.runs.records import StepRecord
from towpath.theory import weight_deviation

SECTIONS = ["results", "curves", "reached", "time", "weights", "planner", "probes", "classes"]
SECTIONS += ["episodes", "theory", "made"]


def build(paths, out, **options):
    missing = write_report(list(paths), out, **options)
    text = out.read_text(encoding="utf-8")
    return Page(text), text, missing


def records(path):
    return [json.loads(line) for line in (path / "records.jsonl").read_text().splitlines()]


def row_of(page, *starts):
    return next(row for row in page.rows if tuple(row[: len(starts)]) == starts)


def percent(text):
    """(mean, half-width) of '72.3 ±1.6'."""
    return [float(part.replace("−", "-")) for part in text.split(" ±")]


def test_numbers_agree_with_the_files(comparison, tmp_path):
    page, text, missing = build([comparison], tmp_path / "report.html")
    assert missing == []
    assert page.sections == [f"tiny-{name}" for name in SECTIONS]
    result = json.loads((comparison / "comparison.json").read_text())
    scores = {
        label: np.mean(
            [
                json.loads((comparison / f"{label}-seed{s}" / "evaluations.json").read_text())[
                    "glyphs"
                ]["accuracies"]
                for s in (0, 1)
            ],
            axis=0,
        )
        for label in ("uniform", "tow-targets")
    }
    uniform, tow = (row_of(page, label) for label in ("uniform", "tow-targets"))
    for label, row in (("uniform", uniform), ("tow-targets", tow)):
        values = scores[label]
        half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
        assert percent(row[1]) == pytest.approx([100 * values.mean(), 100 * half], abs=0.051)
    known = result["differences"]["tow-targets"]["glyphs"]
    assert percent(tow[2]) == pytest.approx(
        [100 * known["mean"], 100 * known["interval"]], abs=0.051
    )
    p_value = stats.ttest_rel(scores["tow-targets"], scores["uniform"]).pvalue
    assert float(tow[3]) == pytest.approx(p_value, abs=0.0051)
    runs = [run for run in result["runs"] if run["label"] == "tow-targets"]
    assert float(tow[4]) == pytest.approx(
        100 * np.mean([r["worst_tenth"] for r in runs]), abs=0.051
    )
    overhead = np.mean([r["timing"]["overhead"] for r in runs])
    assert float(tow[6].rstrip("×")) == pytest.approx(overhead, abs=0.0051)
    assert "synthetic data" in text


def test_how_soon_and_delta_are_recomputed_from_the_records(comparison, tmp_path):
    page, _, _ = build([comparison], tmp_path / "report.html")
    goals = {}
    for seed in (0, 1):
        lines = records(comparison / f"uniform-seed{seed}")
        goals[seed] = [r["validation"]["mean"] for r in lines if "validation" in r][-1]
    steps, tasks = [], []
    for seed, goal in goals.items():
        trained = 0
        for r in records(comparison / f"tow-targets-seed{seed}"):
            if "validation" in r and r["validation"]["mean"] >= goal:
                steps.append(r["step"])
                tasks.append(trained)
                break
            if "weights" in r and "probe" not in r:
                trained += len(r["weights"])
    rows = [row for row in page.rows if row and row[0] == "tow-targets"]
    reach = rows[1]
    if steps:
        assert float(reach[1].replace(",", "")) == round(np.mean(steps))
        assert float(reach[3].replace(",", "")) == round(np.mean(tasks))
        assert reach[-1] == f"{len(steps)} of 2"
    else:
        assert reach[1].startswith("not reached")
    delta = max(
        weight_deviation(
            [
                r["weights"]
                for r in records(comparison / f"tow-targets-seed{s}")
                if "weights" in r and "probe" not in r
            ]
        )
        for s in (0, 1)
    )
    assert float(rows[-1][1]) == pytest.approx(delta, abs=5.1e-5)


def test_plotted_points_are_the_records(comparison, tmp_path):
    page, _, _ = build([comparison], tmp_path / "report.html")
    drawn = page.lines("tiny-curve-steps")
    for line, label in zip(drawn, ("uniform", "tow-targets"), strict=True):
        checks = [
            {r["step"]: r["validation"]["mean"] for r in records(comparison / f"{label}-seed{s}")
             if "validation" in r}
            for s in (0, 1)
        ]  # fmt: skip
        wanted = [(step, 50 * (checks[0][step] + checks[1][step])) for step in checks[0]]
        assert np.allclose(line, wanted, atol=0.05)


def test_curves_are_the_moving_average_of_the_mean_over_seeds(tmp_path):
    path = synthetic.write_comparison(
        tmp_path / "c", 120, weighters=("uniform", "tow"), seeds=(0, 1), validate=5
    )
    page, _, _ = build([path], tmp_path / "report.html")
    for line, label in zip(page.lines("made-up-curve-steps"), ("uniform", "tow"), strict=True):
        smooth = []
        for seed in (0, 1):
            level, own = None, []
            for r in records(path / f"{label}-seed{seed}"):
                if "validation" in r:
                    score = r["validation"]["mean"]
                    level = score if level is None else 0.9 * level + 0.1 * score
                    own.append(level)
            smooth.append(own)
        assert np.allclose([y for _, y in line], 100 * np.mean(smooth, axis=0), atol=0.02)


def test_the_same_folders_give_the_same_bytes(comparison, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copytree(comparison, moved)
    first, second = tmp_path / "a.html", tmp_path / "b.html"
    write_report([comparison], first)
    write_report([moved], second)
    assert first.read_bytes() == second.read_bytes()


def test_ids_are_unique_and_nothing_points_outside(comparison, tmp_path):
    page, text, _ = build([comparison, comparison / "uniform-seed0"], tmp_path / "report.html")
    assert len(page.ids) == len(set(page.ids))
    assert page.outside == []
    assert "script" not in page.tags
    for mark in ("http://", "https://", "url(", "@import"):
        assert mark not in text
    assert text.count("<img") == text.count('<img src="data:image/png;base64,') > 0
    for svg in page.svgs.values():
        assert svg["role"] == "img"
        assert svg["shapes"], svg["id"]
        assert f"{svg['id']}-t" in page.ids


# --- runs that are not whole --------------------------------------------------------------------


@pytest.fixture
def unfinished(comparison, tmp_path):
    path = tmp_path / "tow-targets-seed0"
    shutil.copytree(comparison / path.name, path)
    (path / "summary.json").unlink()
    (path / "evaluations.json").unlink()
    return path


def report(path, tmp_path, capsys):
    code = main(["report", str(path), "--out", str(tmp_path / "r.html")])
    said = capsys.readouterr()
    html = tmp_path / "r.html"
    return code, said.out + said.err, html.read_text(encoding="utf-8") if html.exists() else ""


def test_a_running_folder(unfinished, tmp_path, capsys):
    code, said, text = report(unfinished, tmp_path, capsys)
    assert code == 0
    for where in (said, text):
        assert "it is not finished: it is at step 6 of 6" in where
    assert "What is missing" in text
    assert "No run is finished" in text


def test_a_truncated_folder(unfinished, tmp_path, capsys):
    lines = (unfinished / "records.jsonl").read_bytes()
    (unfinished / "records.jsonl").write_bytes(lines[: len(lines) // 2])
    code, said, text = report(unfinished, tmp_path, capsys)
    assert code == 0
    assert "cut off or damaged; what stands before it is shown" in said
    assert "cut off or damaged" in text


@pytest.mark.parametrize(
    "line", ["[]", "null", '{"step":9,"weights":[]}', '{"step":9,"weights":[null]}', '{"step":[]}']
)
def test_a_record_that_is_none(line, unfinished, tmp_path, capsys):
    with (unfinished / "records.jsonl").open("a") as file:
        file.write(line + "\n")
    code, said, text = report(unfinished, tmp_path, capsys)
    assert code == 0
    assert "what stands before it is shown" in said
    assert "tiny-labels-0" in text


def test_a_comparison_that_has_just_begun(comparison, tmp_path, capsys):
    path = tmp_path / "c"
    path.mkdir()
    shutil.copy(comparison / "comparison.yaml", path)
    code, said, text = report(path, tmp_path, capsys)
    assert code == 0
    assert "uniform-seed0: not begun." in said
    assert "There is nothing to compare yet." in text


@pytest.mark.parametrize("keep", [("config.yaml",), ("records.jsonl",), ("config.yaml", "x")])
def test_a_folder_with_little_in_it(keep, comparison, tmp_path, capsys):
    path = tmp_path / "run"
    path.mkdir()
    for name in keep:
        if name == "x":
            (path / "records.jsonl").write_text("")
            (path / "summary.json").write_text("{")
        else:
            shutil.copy(comparison / "uniform-seed0" / name, path / name)
    code, said, text = report(path, tmp_path, capsys)
    assert code == 0
    assert "not finished" in text
    expected = {
        ("config.yaml",): "there are no records",
        ("records.jsonl",): "there is no config.yaml",
        ("config.yaml", "x"): "its final figures cannot be read",
    }[keep]
    assert expected in said


def test_wrong_arguments_are_told_in_a_sentence(comparison, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    for arguments, says in (
        ([str(tmp_path / "nowhere")], "is not a folder"),
        ([str(tmp_path / "other")], "holds neither config.yaml nor comparison.yaml"),
        ([str(tmp_path / "empty")], "is empty; expected a run"),
        ([str(comparison), str(tmp_path / "empty")], "is empty; expected a run"),
        ([str(comparison), "--out", str(tmp_path)], "expected a file to write"),
        ([], "the following arguments are required"),
    ):
        assert main(["report", *arguments]) == 2
        said = capsys.readouterr().err
        assert says in said
        assert said.count("\n") == 1
    assert not Path("report.html").exists()


def test_a_folder_of_runs_is_read_as_its_runs(comparison, tmp_path):
    folder = tmp_path / "runs"
    shutil.copytree(comparison, folder / "tiny")
    shutil.copytree(comparison / "uniform-seed0", folder / "alone")
    page, _, _ = build([folder], tmp_path / "r.html")
    assert "tiny" in page.ids
    assert "tiny-2" in page.ids


def test_runs_of_other_settings_are_no_seeds_of_one_line(tmp_path):
    for name, every, steps in (("a", 5, 20), ("b", 3, 12)):
        recipe = synthetic.recipe(training={"steps": steps})
        synthetic.write_run(tmp_path / name, recipe, "uniform", steps, validate=every)
    page, _, _ = build([tmp_path / "a", tmp_path / "b"], tmp_path / "r.html")
    assert {"made-up", "made-up-2"} <= set(page.ids)


def test_seeds_that_were_validated_at_other_steps_have_no_common_curve(tmp_path):
    recipe = synthetic.recipe(training={"steps": 20})
    for seed, every in ((0, 7), (1, 3)):
        folder = tmp_path / f"seed{seed}"
        synthetic.write_run(folder, recipe, "uniform", 8, seed=seed, validate=every)
    page, _, _ = build([tmp_path / "seed0", tmp_path / "seed1"], tmp_path / "r.html")
    assert "made-up" in page.ids
    assert "made-up-2" not in page.ids


def test_trusted_tasks_are_neither_clean_nor_wrong(tmp_path):
    path = tmp_path / "run"
    path.mkdir()
    tasks = [{"mislabelled": True, "group": "A"}, {"group": "A"}, {"group": "A"}]
    tasks.append({"trusted": True, "group": "B"})
    record = StepRecord(1, 0, [0.1, 0.1, 0.1, 0.7], tasks, losses=[1.0] * 4, loss=1.0)
    (path / "records.jsonl").write_text(json.dumps(record.as_json()) + "\n")
    run = read_run(path)
    assert run.wrong == [(1, pytest.approx(0.4))]
    assert run.clean == [(1, pytest.approx(0.4))]
    assert list(run.groups) == ["A"]
    ratio = weight_by_label([record])
    assert ratio is not None
    assert ratio.clean == pytest.approx(run.clean[0][1])


# --- the paper's own set ------------------------------------------------------------------------


def test_the_papers_set_says_what_was_not_run(comparison, tmp_path, capsys):
    out = tmp_path / "paper.html"
    assert main(["report", "--paper", str(comparison), "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    page = Page(text)
    names = ("figure-1", "table-1", "table-2", "any-shot", "weights", "iterations", "exact-value")
    assert page.sections == [f"paper-{name}" for name in names]
    assert "0 of 7 parts were run" in text
    assert "towpath compare ablation-iterations" in text
    assert "95.94 ±0.40" in text


# --- size and speed -----------------------------------------------------------------------------


def test_a_large_comparison_is_fast_and_small(tmp_path):
    """5 weighters x 3 seeds x 5,000 records: not much more than reading them, and under 5 MB."""
    path = synthetic.write_comparison(tmp_path / "c", 40, seeds=(0, 1, 2))
    for weighter in synthetic.WEIGHTERS:
        whole = tmp_path / f"{weighter}.jsonl"
        synthetic.write_records(whole, weighter, 5000)
        for seed in (0, 1, 2):  # links: the same records under three seeds, read three times
            target = path / f"{weighter}-seed{seed}" / "records.jsonl"
            target.unlink()
            target.hardlink_to(whole)
    began = time.process_time()
    for records in path.glob("*/records.jsonl"):
        for line in records.read_text().splitlines():
            json.loads(line)
    reading = time.process_time() - began  # the machine's speed at this moment
    began = time.process_time()
    out = tmp_path / "report.html"
    write_report([path], out)
    spent = time.process_time() - began
    assert spent < 5 * reading  # 3.2 was measured
    assert out.stat().st_size < 5e6
