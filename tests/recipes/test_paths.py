"""Paths of a user's own data last; names of sets stay names."""

from tests.training.runs import tiny
from towpath.recipes.paths import set_label, with_lasting_paths


def test_a_folder_of_ones_own_becomes_absolute_and_a_name_stays(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    own = tiny("uniform", data={"name": "./mine"}, test={"also": ["./mine"]})
    lasting = with_lasting_paths(own)
    assert lasting.data.name == str(tmp_path / "mine")
    assert lasting.test.also == [str(tmp_path / "mine")]
    assert lasting.trusted == own.trusted
    named = tiny("uniform")
    assert with_lasting_paths(named) == named


def test_a_set_is_called_by_its_name_or_by_the_last_part_of_its_path():
    assert set_label("omniglot") == "omniglot"
    assert set_label("/home/me/birds") == "birds"
