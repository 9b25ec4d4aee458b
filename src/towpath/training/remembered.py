"""Whether the memory in a checkpoint is one of the weighter that is to go on with it."""

from dataclasses import asdict

from towpath.control import Outlook
from towpath.recipes.typed import RecipeError
from towpath.runs.plain import Json, is_number, object_of
from towpath.weighters import TOW, Kinds, MiniBatchWeighter, Race, Weighter


def check_memory(memory: Json, weighter: Weighter) -> None:
    """Raise RecipeError if the stored memory is not one of this weighter's.

    Args:
        memory: the weighter's state that a checkpoint has.
        weighter: the weighter of the run's recipe.
    """
    if isinstance(weighter, MiniBatchWeighter):
        # a user's rule may store anything; ours declare the types of their state
        if type(weighter).__module__.startswith("towpath."):
            _check_state(object_of(memory, "a memory").get("rule"), weighter.initial_state())
    elif isinstance(weighter, TOW):
        entries = dict(object_of(memory, "a memory"))
        search, first = entries.pop("search", {}), asdict(Outlook())
        # a checkpoint of an earlier release lacks what was not remembered then
        found = {**first, **search} if isinstance(search, dict) else search
        _check_state(found, first, "weighter_state.search")
        if isinstance(weighter.nominal, MiniBatchWeighter):
            _check_state(entries, {"nominal": {}})
            check_memory(entries["nominal"], weighter.nominal)
    elif isinstance(weighter, Kinds):
        _check_state(memory, {"step": 0, "rule": weighter.initial_state()})
    elif isinstance(weighter, Race):
        # the rest, and the tensors of branches, are checked where the race reads them
        rules = object_of(memory, "a memory").get("rules")
        _check_state(rules, {})
        for name, own in object_of(rules, "memories by rule").items():
            if name in weighter.rules:
                _check_state(own, {})
                check_memory(own, weighter.rules[name])


def _check_state(found: Json, initial: Json, where: str = "weighter_state") -> None:
    """Raise RecipeError if a weighter's stored state has other types than its initial state.

    A collection that starts empty may be filled with numbers and with further collections.

    Args:
        found: the stored state.
        initial: the state before the first window.
        where: dotted name of the value, for the message.
    """
    both = (found, initial)
    sound = isinstance(found, type(initial)) or all(map(is_number, both))
    if isinstance(found, dict) and isinstance(initial, dict):
        if initial:
            sound = found.keys() == initial.keys()
        else:
            sound = all(is_number(v) or isinstance(v, dict | list) for v in found.values())
    if not sound:
        raise RecipeError(
            f"The checkpoint has {where} {repr(found)[:80]}; expected what the weighter of this "
            "run's recipe remembers. Delete the run folder and train again."
        )
    if isinstance(found, dict) and isinstance(initial, dict):
        for key in initial:
            _check_state(found[key], initial[key], f"{where}.{key}")
