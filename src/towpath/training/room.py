"""Whether the tasks that a recipe asks for can fit into memory, before any is drawn."""

import math

from towpath.recipes.memory import require_memory
from towpath.recipes.recipe import Recipe
from towpath.wording import quoted


def require_room(
    recipe: Recipe, image_shape: tuple[int, int, int], itemsize: int, free: int | None
) -> None:
    """Raise RecipeError if the images of a window, a probe or the trusted tasks cannot fit.

    Args:
        recipe: says how many tasks there are, and of how many images.
        image_shape: channels, height and width of an image.
        itemsize: bytes of a number.
        free: bytes of free memory; None where that is not known.
    """
    spec, training = recipe.episodes, recipe.training
    task = spec.ways * spec.fewest_images * math.prod(image_shape) * itemsize
    of_images = f"x {spec.ways} ways x {spec.fewest_images} images"
    for tasks, what, remedy in (
        (
            training.horizon * training.meta_batch_size,
            f"A window of {training.horizon:,} x {training.meta_batch_size:,} tasks {of_images}",
            "Lower training.horizon or training.meta_batch_size.",
        ),
        (
            recipe.trusted.count,
            f"A pool of {recipe.trusted.count:,} trusted tasks {of_images}",
            "Lower trusted.count.",
        ),
        *(
            (
                probe.horizon * probe.meta_batch_size,
                f"The probe {quoted(probe.name)} of {probe.horizon:,} x "
                f"{probe.meta_batch_size:,} tasks {of_images}",
                "Lower its horizon or its meta_batch_size.",
            )
            for probe in recipe.probes
        ),
    ):
        require_memory(tasks * task, free, what, remedy)
