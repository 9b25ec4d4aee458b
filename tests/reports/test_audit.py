"""What an audit judges by, and how it orders tasks, classes and groups."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.training.runs import run, tiny
from towpath.cli.main import main
from towpath.recipes.component import Component
from towpath.reports import audit
from towpath.reports.audit import LOSSES, WEIGHTS, class_names, group_shares, labels_known, units
from towpath.runs.judged import JudgedTask, weight_by_label
from towpath.runs.records import ProbeRecord, SkippedWindow, StepRecord


def record(step, weights, wrong, losses=None):
    tasks = [
        {"index": 10 * step + i, "group": "g" + str(i % 2), "classes": ["a"], "mislabelled": bad}
        for i, bad in enumerate(wrong)
    ]
    return StepRecord(step, 0, weights, tasks, losses or [1.0] * len(weights), loss=1.0)


def scrambled_records(steps, weigh):
    """Records of tasks of 3 out of 20 classes in two groups; classes 00 to 07 are bad.

    `weigh` makes the weights of a mini-batch from its losses.
    """
    rng = np.random.default_rng(0)
    names = [f"{'left' if k % 2 else 'right'}/{k:02}" for k in range(20)]
    records = []
    for step in range(steps):
        chosen = [rng.choice(20, 3, replace=False) for _ in range(6)]
        losses = [0.4 + 0.3 * np.mean(own < 8) + 0.05 * rng.normal() for own in chosen]
        tasks = [{"index": 0, "group": "", "classes": [names[k] for k in own]} for own in chosen]
        records.append(StepRecord(step, 0, weigh(np.array(losses)), tasks, losses, loss=0.5))
    return records


def uniform(losses):
    return [1 / len(losses)] * len(losses)


def distrustful(losses):
    return ((1 / losses) / (1 / losses).sum()).tolist()


def exploring(losses):
    return (losses / losses.sum()).tolist()


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.5, 1.0, 1.5, 2.0]), st.booleans()), min_size=2, max_size=12
    )
)
def test_the_area_counts_pairs_of_a_wrong_and_a_clean_task(tasks):
    weights, wrong = [w for w, _ in tasks], [bad for _, bad in tasks]
    result = audit([record(1, weights, wrong)], by=WEIGHTS)
    pairs = [
        1.0 if a < b else 0.5 if a == b else 0.0
        for a, bad_a in tasks
        for b, bad_b in tasks
        if bad_a and not bad_b
    ]
    assert result is not None
    if pairs:
        assert result.area_under_curve == pytest.approx(np.mean(pairs))
    else:
        assert result.area_under_curve is None


def test_only_the_last_steps_count_and_the_least_trusted_come_first():
    records = [record(s, [1.0, 3.0], [False, False]) for s in range(5)]
    records.append(ProbeRecord(5, "p", [[1.0]], [[1.0]], [[{}]]))
    result = audit(records, last=2)
    assert result is not None
    assert (result.first_step, result.last_step) == (3, 4)
    assert [task.trust for task in result.tasks] == [0.5, 0.5, 1.5, 1.5]
    assert [(group.name, group.tasks) for group in result.groups] == [("g0", 2), ("g1", 2)]
    everything = audit(records)
    assert everything is not None
    assert (everything.first_step, everything.last_step) == (0, 4)


def test_records_without_weights_give_nothing():
    assert audit([SkippedWindow(1, 0)]) is None


def test_trusted_tasks_are_not_judged():
    one = record(1, [0.1, 0.9, 2.0], [True, False, False])
    one.tasks[2]["trusted"] = True
    result, by_label = audit([one]), weight_by_label([one])
    assert result is not None
    assert [task.index for task in result.tasks] == [10, 11]
    assert by_label is not None
    assert by_label.ratio == pytest.approx(0.1 / 0.9)


@pytest.mark.parametrize(
    ("weigh", "signal", "said"),
    [
        (distrustful, WEIGHTS, ""),
        (uniform, LOSSES, "All weights are equal"),
        (exploring, LOSSES, "gave tasks of high loss more weight"),
    ],
)
def test_weights_are_judged_unless_they_say_nothing_or_the_opposite(weigh, signal, said):
    result = audit(scrambled_records(200, weigh))
    assert result is not None
    assert result.signal is signal
    assert said in result.reason
    assert bool(said) == bool(result.reason)
    bad = [int(effect.name[-2:]) < 8 for effect in result.classes]
    assert bad == sorted(bad, reverse=True)  # the bad ones first
    assert {effect.name for effect in result.suspects()} == {
        effect.name for effect in result.classes[:8]
    }
    values = [result.signal.suspicion(result.value(task)) for task in result.tasks]
    assert values == sorted(values, reverse=True)


def noisy(losses):
    rng = np.random.default_rng(int(1e6 * losses[0]))
    weights = np.exp(rng.normal(size=len(losses)) - 0.1 * losses)
    return (weights / weights.sum()).tolist()


def test_classes_are_ranked_by_what_tells_them_apart_better():
    result = audit(scrambled_records(200, noisy))
    assert result is not None
    assert result.signal is WEIGHTS
    assert result.class_signal is LOSSES
    assert result.class_reason.startswith(
        "Classes are ranked by losses, which tell them apart better than weights do (reliability 0."
    )
    assert {int(effect.name[-2:]) for effect in result.suspects()} == set(range(8))
    asked = audit(scrambled_records(200, noisy), by=WEIGHTS)
    assert asked is not None
    assert asked.class_signal is WEIGHTS
    assert asked.class_reason == ""


def test_weights_that_are_equal_within_each_mini_batch_say_nothing():
    trusting = record(1, [0.0, 0.0, 1.0], [False] * 3, losses=[1.0, 3.0, 0.1])
    trusting.tasks[2]["trusted"] = True
    even = record(2, [0.3, 0.3, 0.3], [False] * 3, losses=[1.0, 3.0, 0.1])
    even.tasks[2]["trusted"] = True
    result = audit([trusting, even])
    assert result is not None
    assert result.signal is LOSSES
    assert result.tasks[0].index in (11, 21)


def test_weights_are_judged_where_sets_are_mixed_since_an_easier_set_has_lower_losses():
    def mixed(step):
        tasks = [
            {"index": 2 * step + i, "set": name, "off_target": off, "classes": ["a"]}
            for i, (name, off) in enumerate([("characters", True), ("photographs", False)])
        ]
        return StepRecord(step, 0, [0.1, 0.9], tasks, [0.5, 1.5 + 0.1 * (step % 3)], loss=1.0)

    result = audit([mixed(step) for step in range(20)])
    assert result is not None
    assert result.signal is WEIGHTS
    assert result.area_under_curve == 1.0
    assert [effect.name for effect in result.groups] == ["characters", "photographs"]


def test_muted_tasks_have_no_loss_and_are_left_out_of_a_ranking_by_losses():
    result = audit([record(1, [0.5, 0.5], [False, False], losses=[None, 2.0])])
    assert result is not None
    assert [task.index for task in result.tasks] == [11]


def test_labels_are_unknown_unless_somebody_knows_them():
    records = [record(1, [0.2, 0.8], [True, False])]
    known, own = audit(records), audit(records, labels_known=False)
    assert known is not None
    assert own is not None
    assert [known.labels(task) for task in known.tasks] == ["wrong", "clean"]
    assert [own.labels(task) for task in own.tasks] == ["wrong", "unknown"]


@pytest.mark.parametrize(
    ("data", "noise", "known"),
    [("glyphs", 0.3, True), ("glyphs", 0.0, False), ("a folder", 0.3, False)],
)
def test_only_noise_in_a_published_set_tells_which_labels_are_right(data, noise, known):
    recipe = tiny()
    episodes = replace(recipe.episodes, label_noise=noise)
    assert labels_known(replace(recipe, data=Component(data), episodes=episodes)) == known


@pytest.mark.parametrize(
    ("info", "shares"),
    [
        ({"group": "Greek", "classes": ["Greek/a", "Greek/b"]}, {"Greek": 1.0}),
        ({"group": "", "classes": ["Greek/a", "Latin/b"]}, {"Greek": 0.5, "Latin": 0.5}),
        ({"group": "all", "classes": ["cat", "dog"]}, {}),
        ({"classes": ["cat", "Greek/a"]}, {"Greek": 0.5}),
        ({"group": "", "classes": ["a/b", "c"], "class_groups": ["", "Latin"]}, {"Latin": 0.5}),
        ({"group": "all", "task": "D2 / rat", "classes": ["D2 / rat"]}, {}),
        ({"group": "all", "task": "", "classes": ["M1/rat", "M1/human"]}, {}),
        ({"group": "D2", "task": "M1/rat", "classes": ["M1/rat"]}, {"D2": 1.0}),
        ({}, {}),
    ],
)
def test_the_groups_of_a_task_are_its_own_or_those_of_its_classes(info, shares):
    assert group_shares(JudgedTask(1, 1.0, info)) == shares


def test_classes_are_named_without_the_group_that_they_share():
    within = {"group": "Greek", "classes": ["Greek/a", "Greek/b"]}
    across = {"group": "", "classes": ["Greek/a", "Latin/b"]}
    assert class_names(JudgedTask(1, 1.0, within)) == "a, b"
    assert class_names(JudgedTask(1, 1.0, across)) == "Greek/a, Latin/b"


def test_a_task_of_a_table_is_ranked_by_its_own_name():
    assert units(JudgedTask(1, 1.0, {"task": "assay 7", "classes": ["0", "1"]})) == ("assay 7",)
    assert units(JudgedTask(1, 1.0, {"classes": ["a", "b"]})) == ("a", "b")


def test_a_flat_folder_has_classes_and_no_groups():
    records = [
        StepRecord(1, 0, [0.3, 0.7], [{"classes": ["cat"], "group": "all"}] * 2, [1.0, 1.0], 1.0)
    ]
    result = audit(records)
    assert result is not None
    assert [effect.name for effect in result.classes] == ["cat"]
    assert result.groups == []


def test_the_command_lists_classes_and_tasks_and_draws_them(tmp_path, capsys):
    path = run(tmp_path / "run", tiny("tow-targets"))
    assert main(["audit", str(path), "--last", "20", "--rows", "3"]) == 0
    text = capsys.readouterr().out
    assert "Which class to check first: " in text
    assert "Training tasks trusted least, steps 21 to 40" in text
    assert any(f"{script}/U+" in text for script in ("Coptic", "Asomtavruli", "Hebrew"))
    assert "area under the ROC curve" in text
    page = (path / "audit.html").read_text()
    assert page.count("data:image/png;base64") == 9  # classes, six tasks and two more


def test_the_command_refuses_what_is_no_run_in_one_sentence(tmp_path, capsys):
    assert main(["audit", str(tmp_path)]) == 2
    assert "expected a run folder" in capsys.readouterr().err


def test_a_tie_in_reliability_is_called_one():
    found = audit(scrambled_records(30, distrustful))
    assert found is not None
    found._by_class[LOSSES] = replace(found._by_class[WEIGHTS], reliability=0.084)
    found._by_class[WEIGHTS] = replace(found._by_class[WEIGHTS], reliability=0.081)
    assert found.class_reason.endswith("about as well as weights do (reliability 0.08).")
    found._by_class[LOSSES] = replace(found._by_class[LOSSES], reliability=0.5)
    del found.__dict__["class_signal"]
    assert "better than weights do (reliability 0.50 against 0.08)" in found.class_reason


def test_tasks_that_are_off_target_are_not_called_mislabelled():
    wrong = {"index": 0, "group": "g", "classes": ["a"], "mislabelled": True}
    off = {**wrong, "mislabelled": False, "off_target": True}
    right = {**wrong, "mislabelled": False}

    def said(*tasks):
        weights = [1 / len(tasks)] * len(tasks)
        found = audit([StepRecord(0, 0, weights, list(tasks), weights, loss=1.0)])
        assert found is not None
        return found.wrong_tasks

    assert said(off, right) == "off-target tasks"
    assert said(wrong, right) == "mislabelled tasks"
    assert said(wrong, off, right) == "mislabelled and off-target tasks"
