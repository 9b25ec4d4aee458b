"""The option `data.mix` of a recipe: the sets that off-target tasks come from, with their shares.

It is a mapping from set to share, `mix: {omniglot: 0.6}`; or a set's name, or a list of names,
whose tasks together have the share `episodes.label_noise` with `noise_kind: off-target`.
"""

from collections.abc import Mapping

from towpath.data import EpisodeSpec
from towpath.data.noise import OffTarget
from towpath.recipes.component import Component
from towpath.recipes.typed import RecipeError
from towpath.wording import quoted

MIX = "mix"


def mix_shares(data: Component, episodes: EpisodeSpec) -> dict[str, float]:
    """Return the share of the training tasks that comes from each other set; empty without a mix.

    Args:
        data: the data section of the recipe.
        episodes: its tasks, whose noise may be `off-target`.

    Raises:
        RecipeError: if names or shares cannot be used, or contradict each other.
    """
    given = data.options.get(MIX)
    off_target = isinstance(episodes.noise, OffTarget)
    if not given:
        if off_target:
            raise RecipeError(
                "episodes.noise_kind is 'off-target' and there is no data.mix; expected the set "
                "that off-target tasks come from. Write for instance data.mix: omniglot"
            )
        return {}
    names = [given] if isinstance(given, str) else given
    if isinstance(names, Mapping):
        if off_target:
            raise RecipeError(
                f"data.mix gives shares ({quoted(given)}) and so does episodes.label_noise "
                f"{episodes.label_noise:g}; expected one of them. Leave out "
                "episodes.noise_kind, or write data.mix as the set's name."
            )
        return _checked(names)
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise RecipeError(
            f"data.mix is {quoted(given)}; expected shares by set, such as {{omniglot: 0.6}}."
        )
    if not off_target:
        raise RecipeError(
            f"data.mix is {quoted(given)} and gives no share; expected shares by set, such as "
            f"{{{names[0]}: 0.6}}, or episodes.noise_kind: off-target with episodes.label_noise."
        )
    return _checked(dict.fromkeys(names, episodes.label_noise / len(set(names))))


def _checked(shares: Mapping[object, object]) -> dict[str, float]:
    checked: dict[str, float] = {}
    for name, share in shares.items():
        number = isinstance(share, int | float) and not isinstance(share, bool)
        if not isinstance(name, str) or not number or not 0 < float(share) <= 1:  # type: ignore[arg-type]
            raise RecipeError(
                f"data.mix gives {quoted(name)} the share {quoted(share)}; expected a set and a "
                "number above 0 and up to 1, such as {omniglot: 0.6}."
            )
        checked[name] = float(share)  # type: ignore[arg-type]
    if sum(checked.values()) > 1 + 1e-9:
        raise RecipeError(
            f"The shares of data.mix add up to {sum(checked.values()):g}; expected at most 1: what "
            "is left are the tasks of data.name. Lower them."
        )
    return checked
