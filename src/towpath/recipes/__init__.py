"""The recipes that come with towpath, as YAML files beside this one."""

from importlib import resources


def shipped_recipes() -> dict[str, str]:
    """Text of every recipe in the package, by name."""
    folder = resources.files(__name__)
    return {
        entry.name.removesuffix(".yaml"): entry.read_text(encoding="utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".yaml")
    }
