"""What a reader sees of a plan: printed, and in a notebook."""

import html

import pytest

import towpath as tp
from tests.weighters.problems import classification, quadratic


@pytest.mark.parametrize("targets", [True, False])
def test_a_printed_plan_holds_what_a_reader_needs(targets):
    problem = classification(3, 4, seed=1)
    problem = problem if targets else problem.without_targets()
    plan = problem.plan(tp.TOW(beta=0.5))
    words = ["predicted", "actual", "beta 0.5", "curvature ratio", "effective tasks", "sketches"]
    words += [plan.status.value, plan.status.message, f"{plan.cost:.6g}", "iteration 1", "task 3"]
    words += [f"{plan.evaluations:g} mini-batch evaluations", "uniform is 0.25"]
    words += [f"{float(w):.4f}" for w in plan.weights.reshape(-1)]
    text = " ".join(str(plan).split())
    page = html.unescape(plan._repr_html_())
    for word in words:
        assert word in text, word
        assert word == "uniform is 0.25" or word in page, word
    assert ("agreement" in text) == targets
    assert page.count("<td") == 12
    assert page.count("<tr") == page.count("</tr>") == 4


def test_a_large_plan_is_printed_in_part_and_says_so():
    tasks = [(float(i), 1.0) for i in range(15)]
    problem = quadratic([tasks] * 22, start=(0.0, 0.0), lr=0.01)
    plan = problem.plan(tp.TOW(beta=1.0, iterations=1))
    lines = str(plan).splitlines()
    assert max(map(len, lines)) <= 110
    text = " ".join(str(plan).split())
    assert "22 mini-batches x 15 tasks" in text
    assert "task 9" in text
    assert "…" not in text, "no cell may be cut"
    assert "first 10 of 15 tasks" in text
    assert "first 20 of 22 mini-batches" in text
    for w in plan.weights[:20, :10].reshape(-1):
        assert f"{float(w):.4f}" in text
    assert plan._repr_html_().count("<td") == 22 * 15
