"""Small smooth planning problems, and their cost computed apart from the library.

`Problem.cost` is a rollout in plain torch that autograd differentiates in the weights: the
optimisers, the losses and the sums of the cost are written out here, nothing of towpath is used.
`EVERY_OPTIMISER` has all that are modelled; `start_of` takes them cold or warm, in groups or not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import towpath as tp
from towpath.dynamics import AdamDynamics, OptimiserState, SGDDynamics
from towpath.flat import Layout

Params = dict[str, Tensor]
Task = tuple[Tensor, Tensor]
Window = list[list[Any]]
F64 = torch.float64


def tanh_net(params: Params, task: Task) -> tuple[Tensor, Tensor]:
    x, y = task
    return torch.tanh(x @ params["w1"] + params["b1"]) @ params["w2"], y


def linear(params: Params, task: Task) -> tuple[Tensor, Tensor]:
    x, y = task
    return x @ params["w"], y


def squared_error(output: Tensor, target: Tensor) -> Tensor:
    return ((output - target) ** 2).mean()


def softmax_loss(output: Tensor, target: Tensor) -> Tensor:
    log_p = output - output.logsumexp(-1, keepdim=True)
    return -log_p[torch.arange(len(target)), target].mean()


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mse": squared_error,
    "cross_entropy": softmax_loss,
}


class Holder(nn.Module):
    """A module that only holds parameters."""

    def __init__(self, params: Params) -> None:
        super().__init__()
        for name, value in params.items():
            self.register_parameter(name, nn.Parameter(value.clone()))


@dataclass(frozen=True)
class Problem:
    """Everything that a plan needs, and the true cost of any weights."""

    fn: Callable[[Params, Any], tuple[Tensor, Tensor]]
    loss: str
    params: Params
    window: Window
    targets: Window | None = None
    optimizer: str = "sgd"
    options: dict[str, Any] = field(default_factory=lambda: {"lr": 0.3})
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    """options of single parameters that differ from the others'"""
    warm: int = 0
    """steps on random gradients that the optimiser has behind it"""

    def options_of(self, name: str) -> dict[str, Any]:
        return {**self.options, **self.groups.get(name, {})}

    def warm_gradients(self) -> list[Params]:
        g = torch.Generator().manual_seed(99)
        return [
            {name: torch.randn(p.shape, dtype=F64, generator=g).to(p) for name, p in x.items()}
            for x in [self.params] * self.warm
        ]

    @property
    def objective(self) -> tp.Objective:
        return tp.Objective.from_function(self.fn, loss=self.loss)

    @property
    def state(self) -> Any:
        rule, dynamics = {"sgd": (tp.SGD, SGDDynamics), "adam": (tp.Adam, AdamDynamics)}[
            self.optimizer
        ]
        layout = Layout.of(self.params)
        rules = tuple(rule(**self.options_of(name)) for name in layout.names)
        held = OptimiserState.cold(dynamics(layout, rules), self.params)
        x = layout.flatten(list(self.params.values()))
        for g in self.warm_gradients():  # the moments move, the parameters stay
            held = held.after(held.dynamics.step(held.at(x), layout.flatten(list(g.values()))))
        return held

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.window), len(self.window[0])

    def module(self) -> tuple[Holder, torch.optim.Optimizer]:
        """The same start as an nn.Module with a torch.optim object."""
        model = Holder(self.params)
        kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[self.optimizer]
        options = dict(self.options)
        if options.pop("decoupled", False):
            kind = torch.optim.AdamW
        groups = [
            {"params": [p], **self.groups.get(name, {})} for name, p in model.named_parameters()
        ]
        optimizer = kind(groups, **options)
        for gradients in self.warm_gradients():
            for name, p in model.named_parameters():
                p.grad = gradients[name]
            optimizer.step()
            optimizer.zero_grad()
            with torch.no_grad():
                for name, p in model.named_parameters():
                    p.copy_(self.params[name])
        return model, optimizer

    def plan(self, tow: tp.TOW, *, seed: int = 0, state: dict[str, Any] | None = None) -> tp.Plan:
        return tow.plan(
            self.objective,
            self.params,
            self.state,
            self.window,
            targets=self.targets,
            state=state,
            seed=seed,
        )

    def in_dtype(self, dtype: torch.dtype) -> "Problem":
        def convert(value: Any) -> Any:
            if isinstance(value, Tensor):
                return value.to(dtype) if value.is_floating_point() else value
            if isinstance(value, dict):
                return {key: convert(part) for key, part in value.items()}
            return type(value)(convert(part) for part in value)

        return replace(
            self,
            params=convert(self.params),
            window=convert(self.window),
            targets=None if self.targets is None else convert(self.targets),
        )

    def without_targets(self) -> "Problem":
        return replace(self, targets=None)

    def task_loss(self, params: Params, task: Any) -> Tensor:
        return LOSSES[self.loss](*self.fn(params, task))

    def cost(
        self,
        actions: Tensor,
        beta: float,
        *,
        mu: float | Tensor | None = None,
        replay: bool = False,
        softmax: bool = False,
    ) -> Tensor:
        """J of the actions `[T, M]`, differentiable in them."""
        T, M = self.shape
        x = {name: p.clone().requires_grad_() for name, p in self.params.items()}
        step = OPTIMISERS[self.optimizer](self.options_of)
        for warming in self.warm_gradients():
            step(self.params, warming)
        total = 0.5 * beta * ((actions - (1.0 / M if mu is None else mu)) ** 2).sum()
        for t, tasks in enumerate(self.window):
            losses = torch.stack([self.task_loss(x, task) for task in tasks])
            if self.targets is None:
                total = total + losses.sum()
            w = actions[t].softmax(-1) if softmax else actions[t]
            gradients = torch.autograd.grad((w * losses).sum(), list(x.values()), create_graph=True)
            x = step(x, dict(zip(x, gradients, strict=True)))
            if self.targets is not None:
                for task in self.targets[t]:
                    total = total + self.task_loss(x, task)
            elif replay and t == T - 1:
                total = total + sum(self.task_loss(x, task) for task in tasks)
        return total

    def value(self, actions: Tensor, beta: float, **options: Any) -> float:
        """J as a number."""
        return float(self.cost(actions, beta, **options).detach())

    def value_and_gradient(
        self, flat: np.ndarray, beta: float, **options: Any
    ) -> tuple[float, np.ndarray]:
        """For scipy: J and dJ/du of the flattened actions."""
        u = torch.from_numpy(flat.copy()).reshape(self.shape).requires_grad_()
        J = self.cost(u, beta, **options)
        (gradient,) = torch.autograd.grad(J, u)
        return float(J.detach()), gradient.numpy().reshape(-1)


Step = Callable[[Params, Params], Params]


Options = Callable[[str], dict[str, Any]]
"""the hyper-parameters of the parameter of that name"""


def sgd(options_of: Options) -> Step:
    buffers: dict[str, Tensor] = {}

    def step(x: Params, g: Params) -> Params:
        result = {}
        for name in x:
            o = options_of(name)
            direction = g[name] + o.get("weight_decay", 0.0) * x[name]
            momentum = o.get("momentum", 0.0)
            if momentum:
                first = name not in buffers
                fresh = direction if first else (1 - o.get("dampening", 0.0)) * direction
                buffers[name] = fresh if first else momentum * buffers[name] + fresh
                nesterov = o.get("nesterov", False)
                direction = direction + momentum * buffers[name] if nesterov else buffers[name]
            result[name] = x[name] - o["lr"] * direction
        return result

    return step


def adam(options_of: Options) -> Step:
    m: dict[str, Any] = {}
    v: dict[str, Any] = {}
    count = 0

    def step(x: Params, g: Params) -> Params:
        nonlocal count
        count += 1
        result = {}
        for name in x:
            o = options_of(name)
            lr, (b1, b2), eps = o["lr"], o.get("betas", (0.9, 0.999)), o.get("eps", 1e-8)
            decay, here, gradient = o.get("weight_decay", 0.0), x[name], g[name]
            if o.get("decoupled", False):
                here = here - lr * decay * here
            else:
                gradient = gradient + decay * here
            m[name] = b1 * m.get(name, 0.0) + (1 - b1) * gradient
            v[name] = b2 * v.get(name, 0.0) + (1 - b2) * gradient**2
            m_hat, v_hat = m[name] / (1 - b1**count), v[name] / (1 - b2**count)
            result[name] = here - lr * m_hat / (v_hat.sqrt() + eps)
        return result

    return step


OPTIMISERS: dict[str, Callable[[Options], Step]] = {"sgd": sgd, "adam": adam}

# Adam's eps is large because smooth problems are wanted: from cold moments and with eps = 1e-8 its
# first step is the sign of the gradient.
EVERY_OPTIMISER: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("sgd", {"lr": 0.1}),
    "sgd decayed": ("sgd", {"lr": 0.1, "weight_decay": 0.3}),
    "momentum": ("sgd", {"lr": 0.05, "momentum": 0.8}),
    "dampened": ("sgd", {"lr": 0.1, "momentum": 0.8, "dampening": 0.4, "weight_decay": 0.1}),
    "nesterov": ("sgd", {"lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    "adam": ("adam", {"lr": 0.05, "eps": 0.1}),
    "adam decayed": ("adam", {"lr": 0.05, "eps": 0.1, "weight_decay": 0.1}),
    "adamw": ("adam", {"lr": 0.05, "eps": 0.1, "weight_decay": 0.5, "decoupled": True}),
}
# a second group that differs in more than the rate; AdamW decays all of its groups apart
SECOND_GROUP: dict[str, dict[str, Any]] = {
    "sgd": {"lr": 0.03, "weight_decay": 0.2},
    "adam": {"lr": 0.02, "betas": (0.8, 0.99), "weight_decay": 0.2},
}


def start_of(problem: Problem, optimiser: str, *, warm: int = 0, groups: bool = False) -> Problem:
    """The same tasks from another optimiser, cold or warm, in one group or two."""
    kind, options = EVERY_OPTIMISER[optimiser]
    second = {"w2": SECOND_GROUP[kind]} if groups else {}
    return replace(problem, optimizer=kind, options=options, groups=second, warm=warm)


def windows(
    make: Callable[[bool], Task], T: int, M: int, *, bad: int, targets: int
) -> tuple[Window, Window]:
    """T mini-batches of M tasks whose last `bad` are wrong, and T lists of right target tasks."""
    window = [[make(i >= M - bad) for i in range(M)] for _ in range(T)]
    return window, [[make(False) for _ in range(targets)] for _ in range(T)]


def drawing(seed: int) -> Callable[..., Tensor]:
    """Draws normal numbers of any shape, the same for the same seed."""
    g = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=F64, generator=g)

    return draw


def tanh_params(
    draw: Callable[..., Tensor], inputs: int, hidden: int, outputs: int
) -> dict[str, Tensor]:
    """The parameters that `tanh_net` starts from."""
    return {
        "w1": 0.7 * draw(inputs, hidden),
        "b1": 0.1 * draw(hidden),
        "w2": 0.7 * draw(hidden, outputs),
    }


def regression(
    T: int = 3,
    M: int = 4,
    *,
    seed: int = 0,
    bad: int = 1,
    targets: int = 2,
    optimizer: str = "sgd",
    inputs: int = 2,
    hidden: int = 3,
    samples: int = 6,
    **options: Any,
) -> Problem:
    """Tanh networks fitted to tasks about one teacher; bad tasks have the wrong sign."""
    draw = drawing(seed)
    teacher = draw(inputs, 1)

    def make(wrong: bool) -> Task:
        x = draw(samples, inputs)
        y = torch.sin(x @ (teacher + 0.3 * draw(inputs, 1)))
        return x, (-y if wrong else y)

    params = tanh_params(draw, inputs, hidden, 1)
    window, goals = windows(make, T, M, bad=bad, targets=targets)
    options = options or {"lr": 0.3 if optimizer == "sgd" else 0.03}
    return Problem(tanh_net, "mse", params, window, goals, optimizer, options)


def classification(
    T: int = 3,
    M: int = 4,
    *,
    seed: int = 0,
    bad: int = 1,
    targets: int = 2,
    optimizer: str = "sgd",
    ways: int = 3,
    hidden: int = 3,
    samples: int = 6,
    **options: Any,
) -> Problem:
    """Tanh networks with softmax outputs; bad tasks have permuted labels."""
    draw = drawing(seed)
    centres = 1.5 * draw(ways, 2)

    def make(wrong: bool) -> Task:
        labels = torch.arange(samples) % ways
        x = centres[labels] + 0.5 * draw(samples, 2)
        return x, (labels + 1) % ways if wrong else labels

    params = tanh_params(draw, 2, hidden, ways)
    window, goals = windows(make, T, M, bad=bad, targets=targets)
    options = options or {"lr": 0.5 if optimizer == "sgd" else 0.05}
    return Problem(tanh_net, "cross_entropy", params, window, goals, optimizer, options)


def quadratic(
    centres: Sequence[Sequence[Sequence[float]]],
    targets: Sequence[Sequence[Sequence[float]]] | None = None,
    *,
    start: Sequence[float],
    optimizer: str = "sgd",
    **options: Any,
) -> Problem:
    """Tasks `mean (x - centre)^2`: the Hessian is the same diagonal for all of them."""
    eye = torch.eye(len(start), dtype=F64)

    def tasks(rows: Sequence[Sequence[Sequence[float]]]) -> Window:
        return [[(eye, torch.tensor(c, dtype=F64)) for c in batch] for batch in rows]

    return Problem(
        linear,
        "mse",
        {"w": torch.tensor(start, dtype=F64)},
        tasks(centres),
        None if targets is None else tasks(targets),
        optimizer,
        options or {"lr": 0.3},
    )


class Regressor(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.first, self.layer, self.last = nn.Linear(2, 8), layer, nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(torch.tanh(self.layer(self.first(x))))


def trained(layer: nn.Module) -> tuple[nn.Module, torch.optim.Optimizer, Problem]:
    """A model in train mode whose optimiser is warm and whose gradients are set."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Regressor(layer).double().train()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        problem = regression(3, 3, seed=4)
        for x, y in problem.window[0]:
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
    return model, optimizer, problem


def snapshot(model: nn.Module, optimizer: torch.optim.Optimizer) -> list[Tensor]:
    """Everything that a plan must leave alone, torch's global generator included."""
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    moments = [
        value
        for entry in optimizer.state_dict()["state"].values()
        for value in entry.values()
        if isinstance(value, Tensor)
    ]
    tensors = [*model.state_dict().values(), *grads, *moments, torch.get_rng_state()]
    return [tensor.detach().clone() for tensor in tensors]


def same(a: list[Tensor], b: list[Tensor]) -> bool:
    return len(a) == len(b) and all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
