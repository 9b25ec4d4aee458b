from tests.data.makers import write_tree
from tests.data.test_loaders import mini_tables, omniglot_files
from towpath.data import SETS


def test_list_shows_every_set_its_place_licence_and_counts(run, tmp_path):
    write_tree(tmp_path, mini_tables() | omniglot_files("background"))
    code, out, _ = run("list")
    assert code == 0
    for name in SETS:
        assert name in out
    for text in (
        "MIT",
        "research only",
        "synthetic",
        "images_background",
        "towpath data fetch cub",
    ):
        assert text in out
    assert str(tmp_path) in out.replace("\n", "")


def test_list_without_a_data_folder_says_so(run, tmp_path):
    code, out, _ = run("list", root=tmp_path / "nowhere")
    assert code == 0
    assert "not there yet" in out
