"""PNG files of figures."""

from matplotlib.figure import Figure
from PIL import Image

from towpath.reports.charts.png import save


def test_the_same_figure_gives_the_same_bytes_without_the_programs_name(tmp_path):
    paths = []
    for name in ("a.png", "b.png"):
        figure = Figure(figsize=(2, 1))
        figure.add_subplot().plot([0, 1], [1, 0])
        paths.append(save(figure, tmp_path / name))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with Image.open(paths[0]) as picture:
        assert picture.size == (240, 120)
        assert "Software" not in picture.info
