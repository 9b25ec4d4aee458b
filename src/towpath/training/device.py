"""The device of a recipe, refused in a sentence where the machine does not have it."""

import torch

from towpath.recipes.typed import RecipeError
from towpath.wording import nearest


def device_named(name: str) -> torch.device:
    """The device, after one number has been on it and back."""
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
    """Devices of this machine by name."""
    found = ["cpu"]
    found += [f"cuda:{i}" for i in range(torch.cuda.device_count())] if _has_cuda() else []
    found += ["mps"] if torch.backends.mps.is_available() else []
    return found


def _has_cuda() -> bool:
    return bool(torch.cuda.is_available())


def _reason(error: BaseException) -> str:
    """The first sentence of torch's answer: the rest lists every device type there is."""
    first = str(error).split(":")[0].split(". ")[0].split("\n")[0].strip()
    return first.rstrip(".") or type(error).__name__
