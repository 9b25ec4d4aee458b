"""Recipes: the experiments that come with towpath, and how recipes are read and checked."""

from importlib import resources


def shipped_recipes() -> dict[str, str]:
    """Return the YAML of every recipe in the package, by name."""
    folder = resources.files("towpath.recipes.shipped")
    return {
        entry.name.removesuffix(".yaml"): entry.read_text(encoding="utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".yaml")
    }
