"""Whether the tasks that a recipe asks for can fit into memory, before any is drawn."""

import math

from towpath.data import TaskShape
from towpath.recipes.memory import require_memory
from towpath.recipes.recipe import Recipe
from towpath.wording import quoted


def require_room(recipe: Recipe, shape: TaskShape, itemsize: int, free: int | None) -> None:
    """Raise RecipeError if the inputs of a window, a probe or the trusted tasks cannot fit.

    Args:
        recipe: says how many tasks there are, and of how many images or rows.
        shape: the shape of the tasks.
        itemsize: bytes of a number.
        free: bytes of free memory; None where that is not known.
    """
    spec, training = recipe.episodes, recipe.training
    ways = 1 if shape.is_regression else spec.ways
    task = ways * spec.fewest_images * math.prod(shape.inputs) * itemsize
    of_inputs = f"x {ways} ways x {spec.fewest_images} {shape.items}"
    if shape.is_regression:
        of_inputs = f"x {spec.fewest_images} {shape.items}"
    for tasks, what, remedy in (
        (
            training.horizon * training.meta_batch_size,
            f"A window of {training.horizon:,} x {training.meta_batch_size:,} tasks {of_inputs}",
            "Lower training.horizon or training.meta_batch_size.",
        ),
        (
            recipe.trusted.count,
            f"A pool of {recipe.trusted.count:,} trusted tasks {of_inputs}",
            "Lower trusted.count.",
        ),
        *(
            (
                probe.horizon * probe.meta_batch_size,
                f"The probe {quoted(probe.name)} of {probe.horizon:,} x "
                f"{probe.meta_batch_size:,} tasks {of_inputs}",
                "Lower its horizon or its meta_batch_size.",
            )
            for probe in recipe.probes
        ),
    ):
        require_memory(tasks * task, free, what, remedy)
