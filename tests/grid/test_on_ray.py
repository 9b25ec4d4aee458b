"""Ray is an extra; the grid on it is tested with the other engines."""

import pytest

from towpath.grid import on_ray
from towpath.recipes.typed import RecipeError


def test_without_the_extra_the_way_to_install_it_is_told(monkeypatch):
    monkeypatch.setattr(on_ray, "find_spec", lambda name: None)
    with pytest.raises(RecipeError, match=r"pip install 'towpath\[ray\]', or use --jobs N"):
        on_ray.require_ray()
