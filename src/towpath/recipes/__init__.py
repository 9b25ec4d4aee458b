"""The recipes that come with towpath, read once, checked, and a value from then on."""

from importlib import resources


def shipped_recipes() -> dict[str, str]:
    """Text of every recipe in the package, by name."""
    folder = resources.files("towpath.recipes.shipped")
    return {
        entry.name.removesuffix(".yaml"): entry.read_text(encoding="utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".yaml")
    }
