"""The shape of tasks knows its loss and how people call its inputs."""

from towpath.data import TaskShape


def test_images_rows_and_numbers():
    images, rows = TaskShape((1, 28, 28), 5), TaskShape((7,), 2)
    numbers = TaskShape((7,), 1, is_regression=True)
    assert (images.of_images, images.items, images.loss) == (True, "images", "cross_entropy")
    assert (rows.of_images, rows.items, rows.loss) == (False, "rows", "cross_entropy")
    assert (numbers.items, numbers.loss) == ("rows", "mse")
