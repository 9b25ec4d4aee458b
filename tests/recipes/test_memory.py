"""Memory is asked for before it is taken."""

import pytest
import torch

from towpath.recipes.memory import free_memory, require_memory
from towpath.recipes.typed import RecipeError


def test_what_does_not_fit_is_refused_with_both_figures_and_a_remedy():
    with pytest.raises(RecipeError, match=r"needs at least 2\.0 GiB of memory; found 1\.0"):
        require_memory(2**31, 2**30, "A plan", "Lower it.")


def test_what_fits_or_is_not_known_is_taken():
    require_memory(2**30, 2**30, "A plan", "Lower it.")
    require_memory(2**60, None, "A plan", "Lower it.")


def test_the_machine_has_some():
    free = free_memory(torch.device("cpu"))
    assert free is None or free > 0
