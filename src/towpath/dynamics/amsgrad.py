"""AMSGrad, as `torch.optim.Adam(amsgrad=True)` steps: Adam with the largest v so far.

    w+ = max(w, v+)                          s = sqrt(w+ / bc2), otherwise as in `adam`

The state is (x, m, v, w). Where v+ is the new maximum the step depends on v as Adam's does;
elsewhere it depends on w, and on the gradient through m alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.dynamics.adam import Adam, AdamDynamics, TorchAdam
from towpath.dynamics.kind import Group
from towpath.dynamics.optimiser_state import OptimiserState
from towpath.dynamics.state import Linearisation, State
from towpath.flat import Layout


@dataclass(frozen=True)
class AMSGrad(Adam):
    """The hyper-parameters of Adam with `amsgrad=True`, or of AdamW with `decoupled=True` as well.

    Example:
        >>> import torch, towpath as tp
        >>> state = tp.AMSGrad(lr=1e-3).init({"w": torch.ones(2)})
    """

    def init(self, params: Mapping[str, Tensor]) -> OptimiserState:
        """Return the state of this optimiser before its first step on `params`."""
        layout = Layout.of(params)
        return OptimiserState.cold(AMSGradDynamics(layout, (self,) * len(layout.names)), params)


@dataclass(frozen=True)
class AMSGradDynamics(AdamDynamics):
    """AMSGrad's step, for parameters that may differ in hyper-parameters and in steps taken."""

    @property
    def slot_names(self) -> tuple[str, ...]:
        """The moments' names in torch's state, in the order of `State.slots`."""
        return (*super().slot_names, "max_exp_avg_sq")

    def step(self, state: State, gradient: Tensor) -> State:
        """Return the state after one step on the gradient `[P]`, as in `torch.optim`."""
        now = self.moments(state, gradient)
        w = torch.maximum(state.slots[2], now.v)
        s = (w / now.bc2).sqrt()
        x = self.shrunk(state.x) - (self.each("lr", state.x) / now.bc1) * (
            now.m / (s + self.each("eps", state.x))
        )
        return State(x, (now.m, now.v, w), tuple(step + 1 for step in state.steps))

    def linearise(self, state: State, gradient: Tensor) -> Linearisation:
        """Return the Jacobians of this step: 4 x 4 blocks `A [4, 4, P]` and columns `b [4, P]`."""
        now = self.moments(state, gradient)
        m_old, v_old, w_old = state.slots
        b1, b2 = self.betas(state.x)
        c1, c2 = self.complements(state.x)
        lr, eps = self.each("lr", state.x), self.each("eps", state.x)
        new = now.v > w_old  # where v+ is the maximum
        s = (torch.where(new, now.v, w_old) / now.bc2).sqrt()
        a = -lr / (now.bc1 * (s + eps))
        by_w = lr * now.m / (2 * now.bc1 * now.bc2 * s * (s + eps).square())
        by_w = torch.where(s > 0, by_w, 0.0)
        # as in Adam, with the terms in G^2 cancelled by hand
        rest = c1 * b2 * v_old - b1 * c2 * m_old * now.G
        c = torch.where(new, a * (c1 * eps + rest / (now.bc2 * s)) / (s + eps), a * c1)
        zero, share = torch.zeros_like(c), new.to(c)
        by_G = 2 * c2 * now.G
        through = torch.stack([c, torch.ones_like(c) * c1, by_G, share * by_G])
        A = gradient.new_zeros(4, 4, len(gradient))
        A[0, 0], A[0, 1] = self.rho(state.x), a * b1
        A[0, 2], A[0, 3] = torch.where(new, by_w * b2, zero), torch.where(new, zero, by_w)
        A[1, 1], A[2, 2] = b1, b2
        A[3, 2], A[3, 3] = share * b2, 1 - share
        A[:, 0] += self.coupled(state.x) * through
        return Linearisation(A, through)


class TorchAdamOrAMSGrad(TorchAdam):
    """How `torch.optim.Adam` is read and written, with `amsgrad` or without."""

    def rule(self, group: Group) -> Adam:
        """Return the hyper-parameters of one of the optimiser's parameter groups."""
        rule = super().rule(group)
        return AMSGrad(**self.options(group)) if group.get("amsgrad") else rule

    def dynamics(self, layout: Layout, rules: Sequence[Adam]) -> AdamDynamics:
        """The step for parameters with these rules, one for each."""
        largest = [isinstance(rule, AMSGrad) for rule in rules]
        if not any(largest):
            return super().dynamics(layout, rules)
        if not all(largest):
            raise ValueError(
                f"torch.optim.{self.name} has amsgrad=True in some of its parameter groups only; "
                "expected it in all of them or in none. Make the optimiser with one value for all."
            )
        return AMSGradDynamics(layout, tuple(rules))

    def kept(self, group: Group) -> tuple[str, ...]:
        """Return the moments that torch stores for the parameters of a group."""
        return (*super().kept(group), *(("max_exp_avg_sq",) if group.get("amsgrad") else ()))


class TorchAdamW(TorchAdamOrAMSGrad):
    """How `torch.optim.AdamW` is read: as Adam, with decoupled weight decay."""

    name = "AdamW"
    decoupled = True
