"""The picture of sample tasks."""

import pytest
from matplotlib.figure import Figure

from towpath.data import EpisodeSampler, EpisodeSpec, load
from towpath.reports.charts import sample_tasks
from towpath.reports.charts.png import CLEAN, WRONG
from towpath.reports.charts.sample_tasks import write_sample_tasks

WAYS = 3


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are written, in place of their files."""
    figures: list[Figure] = []
    monkeypatch.setattr(sample_tasks, "save", lambda figure, _: figures.append(figure))
    return figures


def test_a_row_shows_every_class_and_label_and_the_weight_beside_the_average(drawn, tmp_path):
    spec = EpisodeSpec(WAYS, 1, 4, label_noise=0.5)
    sampler = EpisodeSampler(load("glyphs", split="train"), spec)
    episodes = [sampler.episode(i) for i in range(12)]
    wrong = next(e for e in episodes if e.info.get("mislabelled"))
    clean = next(e for e in episodes if not e.info.get("mislabelled"))
    write_sample_tasks(tmp_path / "x.png", [clean, wrong], [1.0, 3.0], "Tasks")
    (figure,) = drawn
    columns = WAYS + 1 + 2 * WAYS
    assert len(figure.axes) == 2 * columns
    for row, (words, colour) in enumerate((("clean", CLEAN), ("wrong labels", WRONG))):
        axes = figure.axes[row * columns : (row + 1) * columns]
        assert [one.get_title() for one in axes[:WAYS]] == ["0", "1", "2"]
        query = axes[WAYS + 1 :]
        assert all(one.title.get_color() == colour for one in query)
        (text,) = axes[0].texts
        assert text.get_text() == f"{words}\nweight x{(0.5, 1.5)[row]:.2f}"
    titles = [one.get_title() for one in figure.axes[WAYS + 1 : columns]]
    assert sorted(titles) == ["0", "0", "1", "1", "2", "2"]  # few columns, and every label
