"""Section 3.2 of the paper against counted work."""

import numpy as np
import pytest
import torch

import towpath as tp
from tests.reports.reading import Page
from towpath.backbones import MLP
from towpath.data import EpisodeSampler, EpisodeSpec, Windows, load
from towpath.reports.page import write_report
from towpath.training.complexity import PaperCost
from towpath.training.plan_statistics import plan_statistics

from .runs import records, run, tiny

SCRIPTS = ("Coptic", "Asomtavruli", "Hebrew")


class Counted:
    """Multiplies and counts."""

    def __init__(self):
        self.products = 0

    def __call__(self, a, b):
        self.products += 1
        return a * b


def test_the_terms_in_d_are_the_products_of_a_sweep_written_out():
    """A linear model, so that eta is one product a parameter and sample: m_0 D squares for the
    Gauss-Newton diagonal, M D products of F_u with the diagonal V, in every iteration."""
    D, m0, M, trials = 7, 4, 3, (1, 2)
    rng = np.random.default_rng(0)
    inputs, F_u = rng.normal(size=(m0, D)), rng.normal(size=(D, M))
    curvature, sweep = Counted(), Counted()
    for _ in trials:
        V = [sum(curvature(inputs[s, d], inputs[s, d]) for s in range(m0)) for d in range(D)]
        FV = [[sweep(F_u[d, i], V[d]) for d in range(D)] for i in range(M)]
    assert pytest.approx(np.diag(inputs.T @ inputs)) == V
    assert np.asarray(FV) == pytest.approx(F_u.T * V)
    cost = PaperCost(horizon=5, tasks=M, samples=m0, parameters=D, trials=trials)
    assert (cost.linearisation, cost.backward) == (curvature.products, sweep.products)


def test_the_terms_in_t0_are_a_plans_evaluations_but_for_the_first_stage():
    """The first mini-batch is evaluated once for all trials, and its curvature never."""
    T, M = 3, 4
    torch.manual_seed(0)
    pool = load("glyphs", drawings=5, scripts=SCRIPTS[:2])
    spec = EpisodeSpec(ways=2, shots=1, query=3)
    window = next(Windows(EpisodeSampler(pool, spec), T, M))
    model = MLP(inputs=28 * 28, outputs=None, hidden=(6,))
    objective = tp.Objective(tp.learners.ProtoNet(model))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    plan = tp.TOW.faithful(iterations=2).plan(objective, model, optimizer, window)
    trials = [line.trials for line in plan.history]
    said = plan_statistics(plan, window)
    D = sum(p.numel() for p in model.parameters())
    assert trials
    assert said.paper_evaluations == T * (1 + sum(trials))
    assert said.evaluations == said.paper_evaluations - sum(trials)
    # curvature comes with a trial's evaluation, rejected or not; the last iteration needs none
    assert said.sketches == (T - 1) * (1 + sum(trials[:-1]))
    assert said.paper_sketches == T * len(trials)
    assert said.paper_linearisation == len(trials) * (2 * 3) * D
    assert said.paper_backward == len(trials) * M * D


def test_the_report_shows_the_papers_cost_beside_the_measured_one(tmp_path):
    training = {"steps": 8, "horizon": 2, "meta_batch_size": 2}
    path = run(tmp_path / "run", tiny("tow-faithful", training=training))
    plans = [line["plan"] for line in records(path) if "plan" in line]
    out = tmp_path / "report.html"
    write_report([path], out)
    page = Page(out.read_text(encoding="utf-8"))
    row = next(row for row in page.rows if row[:1] == ["tow-faithful"] and row[-2].endswith(" η"))
    mean = {key: sum(p[key] for p in plans) / len(plans) for key in plans[0] if "paper" in key}
    assert row[1] == f"{mean['paper_evaluations'] / 2:.2f} T₀"
    assert row[2] == f"{sum(p['evaluations'] for p in plans) / len(plans) / 2:.2f} T₀"
    assert row[5] == f"{mean['paper_linearisation']:,.0f} η"
    assert row[6] == f"{mean['paper_backward']:,.0f}"
