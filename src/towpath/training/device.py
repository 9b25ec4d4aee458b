"""The device that a recipe names, with one clear sentence where the machine does not have it."""

import torch

from towpath.recipes.typed import RecipeError
from towpath.wording import nearest


def device_named(name: str) -> torch.device:
    """Return the device after trying it with one number; raise RecipeError if it is unusable."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # 'meta' holds no numbers, 'cuda' may have no driver
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        here = available()
        raise RecipeError(
            f"device is {name!r}, which cannot be used here ({_reason(error)}); expected "
            f"{' or '.join(here)}.{nearest(name, here)}"
        ) from error
    return device


def available() -> list[str]:
    """Return the names of the devices that this machine has, such as `cpu` and `cuda:0`."""
    found = ["cpu"]
    found += [f"cuda:{i}" for i in range(torch.cuda.device_count())] if _has_cuda() else []
    found += ["mps"] if torch.backends.mps.is_available() else []
    return found


def _has_cuda() -> bool:
    return bool(torch.cuda.is_available())


def _reason(error: BaseException) -> str:
    """Return the first sentence of torch's message; the rest lists every device type there is."""
    first = str(error).split(":")[0].split(". ")[0].split("\n")[0].strip()
    return first.rstrip(".") or type(error).__name__
