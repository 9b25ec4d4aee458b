"""Weighted training as one differentiable function of the weights.

The optimisers' updates are written again from the documentation of `torch.optim`, the network from
plain tensor operations: nothing is shared with `towpath.dynamics` or `towpath.curvature`.
"""

import torch
import torch.nn.functional as F

SHAPES = {"a": (4, 3), "b": (4,), "c": (2, 4)}
P = 4 * 3 + 4 + 2 * 4


def parameters(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64)
        for name, shape in SHAPES.items()
    }


def flat(params):
    return torch.cat([p.reshape(-1) for p in params.values()])


def network(params, inputs):
    """A smooth network with a hidden layer."""
    return torch.tanh(inputs @ params["a"].T + params["b"]) @ params["c"].T


def task_loss(x, task, loss):
    """Loss of the network with the flat parameters x."""
    a, b, c = x[:12].reshape(4, 3), x[12:16], x[16:].reshape(2, 4)
    outputs = network({"a": a, "b": b, "c": c}, task[0])
    return (F.cross_entropy if loss == "cross_entropy" else F.mse_loss)(outputs, task[1])


def random_tasks(seed, *sizes, loss="mse"):
    """Lists of tasks `(inputs, targets)`, one list a size."""
    generator = torch.Generator().manual_seed(seed)

    def task():
        inputs = torch.randn(5, 3, generator=generator, dtype=torch.float64)
        if loss == "cross_entropy":
            return inputs, torch.randint(2, (5,), generator=generator)
        return inputs, torch.randn(5, 2, generator=generator, dtype=torch.float64)

    return [[task() for _ in range(size)] for size in sizes]


def sgd(x, memory, g, *, lr, momentum=0.0, dampening=0.0, nesterov=False, weight_decay=0.0):
    g = g + weight_decay * x
    if momentum:
        memory = g if memory is None else momentum * memory + (1 - dampening) * g
        g = g + momentum * memory if nesterov else memory
    return x - lr * g, memory


def adam(x, memory, g, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled=False):
    if decoupled:
        x = x - lr * weight_decay * x
    else:
        g = g + weight_decay * x
    m, v, n = (torch.zeros_like(x), torch.zeros_like(x), 0) if memory is None else memory
    m, v, n = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g, n + 1
    m_hat, v_hat = m / (1 - betas[0] ** n), v / (1 - betas[1] ** n)
    return x - lr * m_hat / (v_hat.sqrt() + eps), (m, v, n)


def amsgrad(x, memory, g, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled=False):
    if decoupled:
        x = x - lr * weight_decay * x
    else:
        g = g + weight_decay * x
    zero = torch.zeros_like(x)
    m, v, largest, n = (zero, zero, zero, 0) if memory is None else memory
    m, v, n = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g, n + 1
    largest = torch.where(v > largest, v, largest)
    m_hat, v_hat = m / (1 - betas[0] ** n), largest / (1 - betas[1] ** n)
    return x - lr * m_hat / (v_hat.sqrt() + eps), (m, v, largest, n)


def radam(x, memory, g, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled=False):
    if decoupled:
        x = x - lr * weight_decay * x
    else:
        g = g + weight_decay * x
    m, v, n = (torch.zeros_like(x), torch.zeros_like(x), 0) if memory is None else memory
    m, v, n = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g, n + 1
    m_hat = m / (1 - betas[0] ** n)
    inf = 2 / (1 - betas[1]) - 1
    rho = inf - 2 * n * betas[1] ** n / (1 - betas[1] ** n)
    if rho <= 5:
        return x - lr * m_hat, (m, v, n)
    r = ((rho - 4) * (rho - 2) * inf / ((inf - 4) * (inf - 2) * rho)) ** 0.5
    adaptive = (1 - betas[1] ** n) ** 0.5 / (v.sqrt() + eps)
    return x - lr * m_hat * r * adaptive, (m, v, n)


def rmsprop(
    x, memory, g, *, lr, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False
):
    g = g + weight_decay * x
    zero = torch.zeros_like(x)
    v, mean, buffer = (zero, zero, zero) if memory is None else memory
    v = alpha * v + (1 - alpha) * g * g
    mean = alpha * mean + (1 - alpha) * g
    width = (v - mean * mean if centered else v).sqrt() + eps
    buffer = momentum * buffer + g / width
    return x - lr * buffer, (v, mean, buffer)


def clipping(step, *, norm=None, value=None):
    """The update `step` on a clipped gradient, as the documentation of torch defines it."""

    def clipped_step(x, memory, g):
        if norm is not None:
            g = g * torch.clamp(norm / (g.square().sum().sqrt() + 1e-6), max=1.0)
        if value is not None:
            g = torch.where(g.abs() > value, value * g.sign().detach(), g)
        return step(x, memory, g)

    return clipped_step


def detached(memory):
    if isinstance(memory, tuple):
        return tuple(part.detach() if torch.is_tensor(part) else part for part in memory)
    return memory if memory is None else memory.detach()


def cost(
    u,
    x,
    memory,
    step,
    loss,
    window,
    targets=None,
    *,
    replay=False,
    softmax=False,
    frozen=False,
):
    """State cost of the actions u `[T, M]`, differentiable, and the parameters at the end."""
    x = x.detach().requires_grad_()
    total = 0.0 * u.sum()
    for t, tasks in enumerate(window):
        losses = torch.stack([loss(x, task) for task in tasks])
        w = u[t].softmax(0) if softmax else u[t]
        (g,) = torch.autograd.grad(w @ losses, x, create_graph=True)
        if targets is None:
            total = total + losses.sum()
        x, memory = step(x, detached(memory) if frozen else memory, g)
        if targets is not None:
            total = total + sum(loss(x, task) for task in targets[t])
    if replay:
        total = total + sum(loss(x, task) for task in window[-1])
    return total, x


def cost_gradient(u, *args, **options):
    """The cost J, dJ/du `[T, M]` and the parameters after the window."""
    u = u.detach().clone().requires_grad_()
    J, x = cost(u, *args, **options)
    (gradient,) = torch.autograd.grad(J, u)
    return float(J.detach()), gradient, x.detach()
