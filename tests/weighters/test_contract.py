"""The contract of a weighter: the library's own and a user's pass the same tests; and planning
works on every learner, backbone and optimiser."""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

import towpath as tp
from tests.learners.tasks import classification
from towpath.backbones import BACKBONES
from towpath.data import TaskShape
from towpath.learners import LEARNERS, ProtoNet
from towpath.recipes.component import Component
from towpath.recipes.components import make_weighter
from towpath.recipes.learners import make_learner
from towpath.recipes.optimizers import make_optimizer
from towpath.weighters import WEIGHTERS, Muted, Weighter, wants_judges, wants_targets
from towpath.weighters.tensors import TENSORS, parted

T, M = 3, 4
Window = list[list[tp.Episode]]


class InverseGradient(tp.MiniBatchWeighter):
    """A user's rule: tasks with a steep loss weigh less."""

    def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        w = 1 / batch.gradients.norm(dim=1).clamp_min(1e-12)
        return w / w.sum(), state


class Surprise(tp.MiniBatchWeighter):
    """A user's rule with a memory, which it changes in place: weight where the loss rose."""

    def initial_state(self) -> dict[str, Any]:
        return {"seen": []}

    def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        state["seen"].append(float(batch.losses.mean()))
        w = batch.losses / (sum(state["seen"]) / len(state["seen"]))
        return w / len(w), state


class LookAhead(tp.MiniBatchWeighter):
    """A user's rule with targets: the influence at the step that the losses alone would take."""

    wants_targets = True
    target_evaluations = 2.0

    def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        s = batch.targets.influence(batch.losses / batch.losses.sum())
        w = (s / s.abs().max().clamp_min(1e-12)).softmax(0)
        return w, {"loss": float(batch.targets.ahead(w, sgd=True).loss)}


USERS: dict[str, Callable[[], Weighter]] = {
    "inverse-gradient": InverseGradient,
    "surprise": Surprise,
    "look-ahead": LookAhead,
    # plans about a rule's weights: by losses, with a memory, and by targets
    # (the targets disagree about some of these windows, and at this rate steps must be small)
    "tow-targets about mixture": lambda: tp.TOW.towards_targets(
        nominal=tp.Mixture(warmup=0), shrink="none", spread=0.05
    ),
    "tow-targets about opus": lambda: tp.TOW.towards_targets(nominal=tp.OPUS(), spread=0.2),
    "tow about surprise": lambda: tp.TOW(nominal=Surprise()),
}
NAMES = [*WEIGHTERS, *USERS]
# of two images a class little can be left out without losing the plan (at 0.99 the part is the
# whole), and a plan that never halves its step must take a smaller one at this rate
GENTLE: dict[str, dict[str, Any]] = {
    "tow-fast": {"query_share": 0.99, "beta": 100.0},
    "tow-targets-fast": {"query_share": 0.5, "spread": 0.2},
    # these weigh equally while they warm up
    "trim": {"warmup": 0},
    "mixture": {"warmup": 0},
    "evidence": {"least": 2, "apart": 0.0},
    "fine-tune": {"after": 1},
    # at the published rates these move by less than what the first test asks for
    "tr-maml": {"rate": 0.01},
    "uncertainty": {"rate": 0.01},
    "auto-lambda": {"rate": 0.01},
    "ats": {"steps": 6},
    "kinds": {"warmup": 0},
    # a heat from the first window to the second
    "race": {"first": 0, "length": 6, "looks": 2, "deals": 2},
    "auto": {"first": 0, "length": 6, "looks": 2, "deals": 2},
}
RACES = ("race", "auto")
EQUAL_AT_FIRST = ("uniform", "kinds", *RACES)


@dataclass(frozen=True)
class Case:
    """A weighter with a model that has everything that planning could disturb."""

    weighter: Weighter
    learner: ProtoNet
    optimizer: torch.optim.Optimizer
    windows: list[Window]
    targets: list[Window]

    def plan(self, n: int = 0, window: Window | None = None, **options: Any) -> tp.Plan:
        # a window as long as both takes the targets of both
        goals = (
            self.targets[n]
            if window is None
            else [*self.targets[0], *self.targets[1]][: len(window)]
        )
        targets = goals if wants_targets(self.weighter) else None
        if wants_judges(self.weighter):
            dtype = next(self.learner.module.parameters()).dtype
            options["judges"] = [task_of(seed, dtype) for seed in range(200, 203)]
        return self.weighter.plan(
            tp.Objective(self.learner),
            self.learner.module,
            self.optimizer,
            self.windows[n] if window is None else window,
            targets=targets,
            **options,
        )


def task_of(seed: int, dtype: torch.dtype) -> tp.Episode:
    """A task that says what a pool's episodes say: its group, and whether it is mislabelled."""
    info = {"index": seed, "group": "abc"[seed % 3], "mislabelled": seed % 4 == 1}
    info |= {"trusted": seed % 2 == 0}
    return replace(classification((1, 1), seed=seed, dtype=dtype), info=info)


def windows(count: int, tasks: int, first: int, dtype: torch.dtype) -> list[Window]:
    seeds = iter(range(first, first + count * T * tasks))
    return [
        [[task_of(next(seeds), dtype) for _ in range(tasks)] for _ in range(T)]
        for _ in range(count)
    ]


def made(name: str, *, dtype: torch.dtype = torch.float64) -> Case:
    """Batch norm with running statistics and dropout in train mode, momentum that is warm."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = (nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Dropout(0.2), nn.Linear(6, 3))
        learner = ProtoNet(nn.Sequential(*layers).to(dtype))
        optimizer = torch.optim.SGD(learner.module.parameters(), lr=0.3, momentum=0.5)
        task = classification((2, 2), seed=99, dtype=dtype)
        nn.functional.cross_entropy(learner(learner.parameters(), task), task.query_y).backward()
        optimizer.step()
    weighter = (
        USERS[name]() if name in USERS else make_weighter(Component(name, GENTLE.get(name, {})))
    )
    return Case(weighter, learner, optimizer, windows(2, M, 0, dtype), windows(2, 2, 100, dtype))


def everything(case: Case) -> dict[str, Any]:
    """All that a plan must leave alone, as copies."""
    module, optimizer = case.learner.module, case.optimizer
    return {
        "tensors": copy.deepcopy(module.state_dict()),
        "gradients": [None if p.grad is None else p.grad.clone() for p in module.parameters()],
        "requires_grad": [p.requires_grad for p in module.parameters()],
        "modes": [part.training for part in module.modules()],
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "generator": torch.get_rng_state(),
        "threads": torch.get_num_threads(),
        "episodes": [
            e.query_x.clone() for window in case.windows for batch in window for e in batch
        ],
    }


FAST = ("tow-fast", "tow-targets-fast")
"""plans whose nominal is not trained on: its cost is an estimate"""


def same(a: Any, b: Any) -> bool:
    """Equal to the bit, tensors inside included."""
    if isinstance(a, Tensor):
        return isinstance(b, Tensor) and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def outcome(plan: tp.Plan) -> list[Any]:
    """What a plan decides and where it leads."""
    return [
        plan.weights,
        plan.losses,
        plan.final.x,
        list(plan.final.slots),
        plan.final.steps,
        plan.status.value,
        plan.cost,
        plan.weighter_state,
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_weights_have_the_windows_shape_and_are_finite_and_not_negative(name, dtype):
    plan = made(name, dtype=dtype).plan(seed=1)  # with other masks the targets may disagree
    assert plan.weights.shape == plan.losses.shape == (T, M)
    assert plan.weights.dtype == dtype
    assert torch.isfinite(plan.weights).all()
    assert (plan.weights >= 0).all()
    assert plan.accuracies is not None
    assert plan.accuracies.shape == (T, M)
    assert plan.status.usable
    assert not plan.status.failed
    assert plan.final.is_finite()
    assert (plan.spread < 1e-6) == (name in EQUAL_AT_FIRST), (
        "a weighter that never weighs proves little"
    )
    assert str(plan)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bits_whatever_the_global_generator_says(name):
    torch.manual_seed(1)
    first = made(name).plan(seed=3)
    torch.manual_seed(2)
    again = made(name).plan(seed=3)
    assert same(outcome(first), outcome(again))
    assert not same(outcome(first)[2], outcome(made(name).plan(seed=4))[2]), "dropout has a seed"


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FAST])
def test_the_cost_is_never_above_the_nominals(name):
    plan = made(name).plan(seed=1)
    assert plan.cost <= plan.nominal_cost
    if name.startswith("tow"):
        assert plan.cost < plan.nominal_cost, "here every kind of TOW finds something to gain"


def test_the_cost_of_a_fast_plan_towards_targets_is_below_the_nominals_at_a_small_rate():
    """`tow-targets-fast` has no search either, and the cost of its nominal is that of uniform
    training to first order: the error of both is of the order of the learning rate."""
    case = made("tow-targets-fast")
    case.learner.module.eval()
    case.optimizer.param_groups[0]["lr"] = 0.003
    moved = 0
    for seed, window in enumerate(windows(9, M, 0, torch.float64)):
        plan = case.plan(window=window, seed=seed)
        moved += plan.spread > 1e-6
        assert plan.cost <= plan.nominal_cost
    assert moved, "some targets must agree"


def test_the_cost_of_a_fast_plan_is_below_the_nominals_where_its_assumptions_hold():
    """`tow-fast` has no search (its only trial is the training), so nothing but its direction can
    lower the cost. Its costates leave out curvature, an error of the order of the learning rate,
    and the trial is judged on every other task. So: a small rate, each task twice, which makes half
    of a mini-batch stand for all of it, and no dropout, whose masks tell the two apart."""
    case = made("tow-fast")
    case.learner.module.eval()
    case.optimizer.param_groups[0]["lr"] = 0.03
    for seed, window in enumerate(windows(9, M, 0, torch.float64)):
        twice = [[batch[i - i % 2] for i in range(M)] for batch in window]
        plan = case.plan(window=twice, seed=seed)
        assert plan.cost < plan.nominal_cost


@pytest.mark.parametrize("name", NAMES)
def test_planning_leaves_model_optimiser_buffers_and_generator_alone(name):
    case = made(name)
    before = everything(case)
    case.plan()
    assert same(everything(case), before)


@pytest.mark.parametrize("name", NAMES)
def test_two_windows_with_the_state_through_json_equal_two_windows_in_one_go(name):
    def train(*, stop: bool) -> list[Any]:
        case = made(name)
        state = None
        said = []
        for n in range(2):
            plan = case.plan(n, state=state, seed=n)
            plan.apply_(case.learner.module, case.optimizer)
            said += outcome(plan)
            state = plan.weighter_state
            if stop:
                plain, tensors = parted(state)
                state = json.loads(json.dumps(plain))
                if tensors:
                    state[TENSORS] = {key: t.clone() for key, t in tensors.items()}
                held = copy.deepcopy((case.learner.module, case.optimizer.state_dict()))
                case = made(name)
                case.learner.module.load_state_dict(held[0].state_dict())
                case.optimizer.load_state_dict(held[1])
        return said

    assert same(train(stop=True), train(stop=False))


# the others plan a window as a whole, or look at the judges at its end
@pytest.mark.parametrize(
    "name", [n for n in NAMES if n not in ("pds", "kinds", *RACES) and n[:3] != "tow"]
)
def test_a_rule_sees_one_long_window_as_two_short_ones(name):
    long, short = made(name), made(name)
    long.learner.module.eval()  # dropout's masks belong to a window's seed
    short.learner.module.eval()
    whole = long.plan(window=long.windows[0] + long.windows[1])
    first = short.plan(0)
    first.apply_(short.learner.module, short.optimizer)
    remembered = json.dumps(first.weighter_state)
    second = short.plan(1, state=first.weighter_state)
    assert json.dumps(first.weighter_state) == remembered, "the state passed in is not changed"
    assert same(whole.weights, torch.cat([first.weights, second.weights]))
    assert same(whole.final.x, second.final.x)
    assert whole.weighter_state == second.weighter_state


@pytest.mark.parametrize("name", RACES)
def test_the_contract_sees_a_race_in_the_middle_of_a_heat(name):
    plan = made(name).plan()
    assert plan.race is not None
    assert plan.race.standings, "the judges have looked"
    assert plan.weighter_state[TENSORS], "branches go on in the next window"


@pytest.mark.parametrize("name", NAMES)
def test_a_muted_task_weighs_nothing_and_moves_nothing(name):
    muted = Muted(tasks=frozenset({(0, 1), (2, 0), (2, 3)}))
    case, other = made(name), made(name)
    for t, i in muted.tasks:
        task = case.windows[0][t][i]
        broken = torch.full_like(task.query_x, torch.nan)
        other.windows[0][t][i] = tp.Episode(task.support_x, task.support_y, broken, task.query_y)
    plan = case.plan(muted=muted)
    assert same(outcome(plan), outcome(other.plan(muted=muted)))
    zero = torch.zeros(T, M, dtype=torch.bool)
    for t, i in muted.tasks:
        zero[t, i] = True
    assert (plan.weights[zero] == 0).all()
    assert (plan.weights[~zero] > 0).any()
    assert not same(plan.final.x, case.plan().final.x)


@pytest.mark.parametrize("name", NAMES)
def test_a_mini_batch_that_is_muted_altogether_keeps_the_others_in_their_place(name):
    case = made(name)
    plan = case.plan(muted=Muted(tasks=frozenset((0, i) for i in range(M))))
    assert plan.status.usable
    assert (plan.weights[0] == 0).all()
    assert plan.accuracies is not None
    assert plan.accuracies.shape == (T, M)
    assert (plan.losses[0] == 0).all()
    assert (plan.losses[1:] > 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_applying_a_plan_equals_steps_of_torch_on_its_weighted_losses(name):
    case, reference = made(name), made(name)
    case.learner.module.eval()
    reference.learner.module.eval()
    plan = case.plan()
    plan.apply_(case.learner.module, case.optimizer)
    learner, optimizer = reference.learner, reference.optimizer
    for w, batch in zip(plan.weights, reference.windows[0], strict=True):
        losses = [
            nn.functional.cross_entropy(learner(learner.parameters(), e), e.query_y) for e in batch
        ]
        optimizer.zero_grad()
        (w @ torch.stack(losses)).backward()
        optimizer.step()
    torch.testing.assert_close(
        case.learner.module.state_dict(), learner.module.state_dict(), rtol=1e-9, atol=1e-11
    )
    ours, theirs = case.optimizer.state_dict(), optimizer.state_dict()
    torch.testing.assert_close(ours["state"], theirs["state"], rtol=1e-9, atol=1e-11)
    with pytest.raises(ValueError, match="moved since this plan"):
        plan.apply_(case.learner.module, case.optimizer)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in RACES and n[:3] != "tow"])
def test_a_rule_takes_targets_where_it_wants_them_and_only_there(name):
    case = made(name)
    wrong = None if wants_targets(case.weighter) else case.targets[0]
    expected = "found no targets; expected" if wrong is None else "does not look at them"
    with pytest.raises(ValueError, match=expected):
        case.weighter.plan(
            tp.Objective(case.learner),
            case.learner.module,
            case.optimizer,
            case.windows[0],
            targets=wrong,
        )


@pytest.mark.parametrize(
    "answer", [[0.5, 0.5], [0.5, 0.5, 0.5, -0.5], [1, 1, 1, torch.nan], [1, 1, 1, torch.inf]]
)
def test_a_rule_that_answers_nonsense_is_told_so(answer):
    class Nonsense(InverseGradient):
        def weights(self, *said: Any) -> tuple[Tensor, dict[str, Any]]:
            return torch.tensor(answer), {}

    case = made("uniform")
    with pytest.raises(ValueError, match=r"Nonsense.weights returned .* expected 4 finite numbers"):
        Nonsense().plan(
            tp.Objective(case.learner), case.learner.module, case.optimizer, case.windows[0]
        )


def test_a_class_with_the_signature_of_before_is_refused_with_the_new_one():
    with pytest.raises(
        ValueError, match=r"Old.weights takes .*losses, gradients.*weights\(self, b"
    ):

        class Old(tp.MiniBatchWeighter):
            def weights(self, losses, gradients, infos, state):  # type: ignore[override]  # the point
                return losses, state


def test_a_rule_counts_the_mini_batches_that_it_has_seen_and_goes_on_counting():
    class Counting(tp.MiniBatchWeighter):
        seen: ClassVar[list[int]] = []

        def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> Any:
            self.seen.append(batch.step)
            assert len(batch.tasks) == len(batch.infos) == len(batch)
            return torch.ones(len(batch)), state

    case = replace(made("uniform"), weighter=Counting())
    muted = Muted(tasks=frozenset((1, i) for i in range(M)))  # nothing to see in the second
    first = case.plan(muted=muted)
    case.plan(state=json.loads(json.dumps(first.weighter_state)))
    assert Counting.seen == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"\['draws'\]; expected 'step' and 'rule'"):
        case.plan(state={"draws": 3})


def test_a_rule_sees_features_in_the_embedding_and_flat_inputs_without_one():
    seen: list[list[Tensor]] = []

    class Looking(tp.MiniBatchWeighter):
        def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> Any:
            seen.append(batch.features())
            assert batch.features() is seen[-1], "computed once"
            return torch.ones(len(batch)), state

    case = replace(made("uniform"), weighter=Looking())
    case.learner.module.eval()
    tasks = case.windows[0][0]
    plan = case.plan(window=[tasks])
    with torch.no_grad():
        torch.testing.assert_close(seen[0], [case.learner.module(task.query_x) for task in tasks])
    assert plan.evaluations == pytest.approx(1 + 1 / 3)

    def fn(params: Any, task: tp.Episode) -> tuple[Tensor, Tensor]:
        return task.query_x @ params["w"], task.query_y

    params = {"w": torch.zeros(4, 3, dtype=torch.float64)}
    objective = tp.Objective.from_function(fn)
    plan = Looking().plan(objective, params, tp.SGD(lr=0.1).init(params), [tasks])
    torch.testing.assert_close(seen[1], [task.query_x.flatten(1) for task in tasks])
    assert plan.evaluations == 1
    with pytest.raises(ValueError, match=r"one of type tuple; expected a tp.Episode"):
        objective.features(params, [(1, 2)])


# Planning on the parts of the library. Every pair of (learner, backbone), (learner, optimiser) and
# (backbone, optimiser) occurs: 20 cases in place of 80.
OPTIMISERS: list[dict[str, Any]] = [
    {"name": "sgd", "meta_lr": 0.1},
    {"name": "sgd", "meta_lr": 0.05, "momentum": 0.9},
    {"name": "adam", "meta_lr": 0.01},
    {"name": "adamw", "meta_lr": 0.01},
]
PARTS = [
    (learner, list(BACKBONES)[(i + j) % len(BACKBONES)], j)
    for i, learner in enumerate(LEARNERS)
    for j in range(len(OPTIMISERS))
]
SIZES: dict[str, dict[str, Any]] = {
    "conv4": {"filters": 6},
    "mlp": {"hidden": [8, 8]},
    "resnet10": {"filters": 8, "norm": "group"},
    "resnet18": {"filters": 4, "norm": "batch"},
}


def test_the_chosen_cases_cover_every_pair_of_parts():
    optimisers = range(len(OPTIMISERS))
    assert {(a, b) for a, b, _ in PARTS} == {(a, b) for a in LEARNERS for b in BACKBONES}
    assert {(a, c) for a, _, c in PARTS} == {(a, c) for a in LEARNERS for c in optimisers}
    assert {(b, c) for _, b, c in PARTS} == {(b, c) for b in BACKBONES for c in optimisers}


@pytest.mark.parametrize(
    ("learner", "backbone", "optimiser"),
    PARTS,
    ids=[f"{a}-{b}-{OPTIMISERS[c]['name']}{c}" for a, b, c in PARTS],
)
def test_planning_works_on_the_librarys_parts(learner, backbone, optimiser):
    chosen = Component(learner)
    if "adaptation_steps" in signature(LEARNERS[learner]).parameters:
        chosen = chosen.given(adaptation_steps=1, inner_lr=0.05)
    network, shape = Component(backbone, SIZES[backbone]), TaskShape((1, 16, 16), 2)
    made_learner = make_learner(network, chosen, shape=shape, seed=0)
    # float64: the first steps of Adam hardly depend on the weights
    params = {name: p.detach().double() for name, p in made_learner.parameters().items()}
    state = make_optimizer(Component.of("optimizer", OPTIMISERS[optimiser]), params)
    window = [
        [classification((1, 1), shape=(1, 16, 16), seed=2 * t + i) for i in range(2)]
        for t in range(2)
    ]
    objective, tow = tp.Objective(made_learner), tp.TOW(beta=0.5)
    plan = tow.plan(objective, params, state, window, seed=1)
    assert plan.weights.shape == (2, 2)
    assert plan.weights.isfinite().all()
    assert (plan.weights >= 0).all()
    assert plan.cost <= plan.nominal_cost
    assert plan.status.usable
    assert not plan.status.failed, plan.status
    assert plan.history, "at least one direction was tried"
    assert not torch.equal(plan.final.x, plan.initial.x)
    assert same(outcome(plan), outcome(tow.plan(objective, params, state, window, seed=1)))
    # the next window goes on from where this one ended
    after = tow.plan(objective, plan.params, plan.optimizer_state, window[:1], seed=2)
    assert after.initial.equals(plan.final)
    assert not torch.equal(after.final.x, plan.final.x)


def test_a_rule_that_forgets_its_state_is_told_what_to_return():
    class Forgetful(tp.MiniBatchWeighter):
        def weights(self, batch, state):
            return torch.ones_like(batch.losses)

    case = made("uniform")
    with pytest.raises(ValueError, match=r"Forgetful.weights returned .*: return weights, state"):
        Forgetful().plan(
            tp.Objective(case.learner), case.learner.module, case.optimizer, case.windows[0]
        )
