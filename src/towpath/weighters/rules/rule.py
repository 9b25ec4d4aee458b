"""The base class of all rules: one method, applied through the mini-batches of a window.

A rule implements `weights(batch, state) -> (weights, state)`: from the data of a mini-batch
(`towpath.weighters.rules.minibatch`) and the rule's state (a dict of plain numbers, strings and
lists) to the weights `[M]` and the next state. This base class applies it to the T mini-batches of
a window, so that every rule has the same `plan` call as TOW.
"""

import inspect
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from towpath.control import Status
from towpath.dynamics import State
from towpath.objective import Objective
from towpath.objective.live import Values
from towpath.weighters.card import Card
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.plan import BuffersMoved, Plan
from towpath.weighters.rules.memory import Memory, RuleMemory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.seen import Seen
from towpath.weighters.rules.site import Site
from towpath.weighters.rules.targets import BadTargetsError
from towpath.weighters.seeds import stage_seed
from towpath.weighters.start import ModelLike, OptimizerLike, Start
from towpath.weighters.tow.rollout import stacked_accuracies
from towpath.weighters.window import Window, check_call, checked_targets, checked_window
from towpath.weighters.work import WindowWork
from towpath.wording import quoted


@dataclass
class _Walk:
    """The progress of training through a window."""

    here: State
    memory: RuleMemory
    buffers: Values
    """the model's buffers after the steps so far"""
    weights: list[Tensor] = field(default_factory=list)
    losses: list[Tensor] = field(default_factory=list)
    accuracies: list[Tensor | None] = field(default_factory=list)
    work: float = 0.0
    """evaluations of single tasks, targets included"""
    status: Status = Status.RULE
    bad: Muted = NOTHING_MUTED
    judged: bool = False
    """whether the rule could decide anything of a mini-batch so far"""

    @property
    def outcome(self) -> Status:
        """The status of the plan."""
        blind = self.status is Status.RULE and not self.judged
        return Status.NOTHING_TO_JUDGE if blind else self.status

    def fail(self, bad: Muted = NOTHING_MUTED) -> bool:
        """Record that training cannot go on, and return False."""
        self.status, self.bad = Status.NON_FINITE_NOMINAL, bad
        return False


class MiniBatchWeighter(ABC):
    """Base of the rules, which decide mini-batch by mini-batch.

    Example:
        >>> import torch, towpath as tp
        >>> class Hardest(tp.MiniBatchWeighter):
        ...     def weights(self, batch, state):
        ...         return (batch.losses == batch.losses.max()).double(), state
        >>> Hardest().weights(tp.MiniBatch(torch.tensor([1.0, 3.0]), torch.zeros(2, 5)), {})[0]
        tensor([0., 1.], dtype=torch.float64)
    """

    wants_targets: ClassVar[bool] = False
    """True for a rule that uses `batch.targets`: training then passes trusted tasks to it."""
    wants_judges: ClassVar[bool] = False
    """True for a class with a `plan` of its own that takes `judges`: trusted tasks that training
    keeps apart for it, which are neither trained on nor targets."""
    target_evaluations: ClassVar[float] = 1.0
    """How often a rule that wants targets evaluates them for one mini-batch, look-aheads included;
    training only uses it to estimate beforehand how long a run will take."""

    looks_at_features: ClassVar[bool] = False
    """True for a rule that uses the features of every task and target; training only uses it to
    estimate beforehand how long a run will take."""
    needs_trusted: ClassVar[bool] = False
    """True for a rule that trains on the trusted tasks and hardly on anything else: a recipe
    without trusted tasks is refused."""
    believes_trusted: ClassVar[bool] = False
    """True for a rule that gives trusted tasks weight for being trusted: a run checks them for it
    (`info["left_out"]` marks those that turn out to be wrong)."""
    needs_classes: ClassVar[bool] = False
    """True for a rule that decides by accuracies: a run on tasks of regression says that it does
    nothing there."""
    from_steps: ClassVar[Mapping[str, float]] = {}
    """Options that a recipe fills in where it does not give them: shares of training.steps."""
    card: ClassVar[Card | None] = None
    """The description that `towpath weighters` prints, for rules of the library."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _check_signature(cls)

    @abstractmethod
    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Return the weights `[M]`, >= 0, of one mini-batch, and the rule's next state."""

    def watch(self, batch: MiniBatch, state: Memory) -> Memory:
        """Return the rule's next state where another rule weighs the mini-batch.

        A rule whose state does not depend on its weights may override it to save computing them.
        """
        return self.weights(batch, state)[1]

    def can_judge(self, seen: Seen) -> bool:  # noqa: ARG002
        """Return whether some task of a mini-batch has what the rule decides by.

        Plans in whose windows none has say so by their status.
        """
        return True

    def initial_state(self) -> Memory:
        """Return the rule's state before the first mini-batch."""
        return {}

    def expected_work(self, T: int, targets: float, inertia: float) -> WindowWork:  # noqa: ARG002
        """Return the expected work of a window (see `towpath.weighters.work.window_work`)."""
        seen = T * (1 + targets) if self.looks_at_features else 0.0
        return WindowWork(T + T * targets * self.target_evaluations, forwards=seen)

    @staticmethod
    def memory_since_0_1(state: Mapping[str, Any], step: int) -> Memory:
        """Return a checkpoint's state as `plan` takes it; 0.1 stored the rule's part alone."""
        if set(state) == {"step", "rule"}:
            return dict(state)
        return {"step": step, "rule": dict(state)}

    def plan(
        self,
        objective: Objective,
        model: ModelLike,
        optimizer: OptimizerLike,
        window: Window,
        *,
        targets: Window | None = None,
        muted: Muted = NOTHING_MUTED,
        state: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> Plan:
        """Weigh and train through the window, one mini-batch after the other.

        Args:
            objective: evaluates the tasks' losses and gradients.
            model: an `nn.Module`, or a dict of parameters.
            optimizer: its `torch.optim` object, or a state from `tp.Adam(lr=...).init(params)`.
            window: T lists of M tasks.
            targets: T lists of trusted tasks, for a rule with `wants_targets`.
            muted: tasks to leave out because their loss or gradient is not finite.
            state: `weighter_state` of the plan of the previous window, or None.
            seed: the seed of all randomness of the plan.
        """
        began = time.perf_counter()
        check_call(objective, seed)
        tasks = checked_window(window)
        self.check_targets(targets is not None)
        goals = checked_targets(targets, len(tasks))
        start = Start.of(model, optimizer)
        walk = _Walk(start.state, RuleMemory.of(state, self.initial_state()), start.buffers)
        for t, batch in enumerate(tasks):
            site = Site(objective, start, stage_seed(seed, t), t)
            if not self._step(walk, site, t, batch, goals and goals[t], muted):
                break
        cost = math.fsum(float(row.double().sum()) for row in walk.losses)
        rows, here = walk.weights, walk.here
        return Plan(
            weights=torch.stack(rows) if rows else here.x.new_zeros(0, len(tasks[0])),
            status=walk.outcome,
            nominal_cost=cost,
            cost=cost,
            predicted_decrease=0.0,
            history=(),
            beta=math.nan,
            agreement=None,
            curvature_ratio=0.0,
            losses=torch.stack(walk.losses),
            accuracies=stacked_accuracies(walk.accuracies),
            bad=walk.bad,
            evaluations=walk.work / len(tasks[0]),
            sketches=0.0,
            seconds=time.perf_counter() - began,
            layout=start.layout,
            initial=start.state,
            final=here,
            optimizer_state=start.optimizer.after(here),
            weighter_state=walk.memory.plain(),
            buffers=BuffersMoved.between(start.buffers, walk.buffers),
        )

    def check_targets(self, given: bool) -> None:
        """Raise a ValueError if the rule wants targets and has none, or the other way round."""
        name = type(self).__name__
        if given and not self.wants_targets:
            raise ValueError(
                f"{name} found targets; it is a rule that does not look at them. Add the trusted "
                "tasks to the window's mini-batches instead, or let a class of your own say "
                "`wants_targets = True`."
            )
        if self.wants_targets and not given:
            raise ValueError(
                f"{name} found no targets; expected targets=T lists of trusted tasks, which it "
                "weighs the window's tasks by. Pass targets; in a recipe, set trusted.count."
            )

    def _step(
        self,
        walk: _Walk,
        site: Site,
        t: int,
        batch: Sequence[Any],
        goals: Sequence[Any] | None,
        muted: Muted,
    ) -> bool:
        """Evaluate the tasks, weigh them and step; return whether training may go on."""
        skip = muted.at(t)
        said, walk.buffers = site.train(walk.buffers, walk.here.x, batch, skip)
        walk.losses.append(said.losses)
        walk.accuracies.append(said.accuracies)
        wrong = said.bad_indices()
        if wrong:
            walk.work += site.work
            return walk.fail(Muted(tasks=frozenset((t, i) for i in wrong)))
        seen = Seen(site, walk.here, said, batch, goals, skip, muted.targets_at(t))
        try:
            w, walk.memory = self.decide(seen, walk.memory)
        except BadTargetsError as error:
            return walk.fail(Muted(targets=frozenset((t, i) for i in error.indices)))
        finally:
            walk.work += site.work
        walk.judged = walk.judged or self.can_judge(seen)
        walk.weights.append(w)
        after = site.dynamics.step(walk.here, said.held.weighted(w))
        if not after.is_finite():
            return walk.fail()
        walk.here = after
        return True

    def decide(self, seen: Seen, memory: RuleMemory) -> tuple[Tensor, RuleMemory]:
        """Return the weights `[M]` of an evaluated mini-batch, and the memory after it.

        Tasks that are muted get the weight 0; the rule does not see them, nor a mini-batch without
        any other task.

        Args:
            seen: the mini-batch, evaluated at the parameters that it will be trained on at.
            memory: the state after the mini-batch before.

        Raises:
            BadTargetsError: if the rule used targets whose loss or gradient is not finite.
        """
        w = torch.zeros_like(seen.said.losses)
        if not seen.kept:
            return w, memory
        given, remembered = self._answer(seen.mini_batch(memory.step), memory.rule)
        given = torch.as_tensor(given, dtype=w.dtype, device=w.device)
        usable = torch.isfinite(given) & (given >= 0)
        if given.shape != (len(seen.kept),) or not bool(usable.all()):
            raise ValueError(
                f"{type(self).__name__}.weights returned {given.tolist()}; expected "
                f"{len(seen.kept)} finite numbers of at least 0, one for each task."
            )
        w[seen.kept] = given
        return w, RuleMemory(memory.step + 1, remembered)

    def _answer(self, batch: MiniBatch, memory: Memory) -> tuple[Tensor, Memory]:
        """Return what the rule decides; raise a ValueError if it is not weights and a state."""
        answer: object = self.weights(batch, memory)
        if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], dict):
            return answer
        raise ValueError(
            f"{type(self).__name__}.weights returned {quoted(answer)}; expected the weights and "
            "the state, a dictionary. End it with: return weights, state"
        )


def _check_signature(cls: type) -> None:
    """Raise a ValueError if `weights` cannot be called with a mini-batch and a state."""
    method = vars(cls).get("weights")
    if not inspect.isfunction(method):
        return
    signature = inspect.signature(method)
    try:
        signature.bind(None, None, None)  # self, batch, state
    except TypeError:
        raise ValueError(
            f"{cls.__name__}.weights takes ({', '.join(signature.parameters)}); expected "
            "weights(self, batch, state) -> (weights, state). Read batch.losses, batch.gradients "
            "and batch.infos in place of the single arguments (docs/weighters.md)."
        ) from None
