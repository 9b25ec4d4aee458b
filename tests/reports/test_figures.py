"""PNG figures of a comparison."""

from PIL import Image

from tests.reports import synthetic
from towpath.reports.charts.figures import write_figures, write_weights
from towpath.runs.comparing import compared


def test_the_weights_of_many_weighters_stand_in_rows_of_four(tmp_path):
    path = synthetic.write_comparison(tmp_path / "c", 20, seeds=(0,))
    result = compared(path)
    sizes = []
    for labels in (synthetic.WEIGHTERS[:4], synthetic.WEIGHTERS):
        out = write_weights(tmp_path / "w.png", path, result, labels)
        with Image.open(out) as picture:
            sizes.append(picture.size)
    assert sizes[0][0] == sizes[1][0]
    assert sizes[1][1] > 1.5 * sizes[0][1]


def test_weights_are_drawn_where_tasks_were_mislabelled(tmp_path):
    path = synthetic.write_comparison(
        tmp_path / "c", 20, weighters=("uniform",), seeds=(0,), validate=5
    )
    written = write_figures(path, compared(path))
    assert [file.name for file in written] == ["curves.png", "weights.png"]
    assert all(file.is_file() for file in written)
