from tests.data.makers import write_tree
from tests.data.test_loaders import CUB


def test_glyphs_need_no_fetching(run):
    code, out, _ = run("fetch", "glyphs")
    assert code == 0
    assert "built in" in out


def test_a_set_that_is_there_in_another_packing_is_not_fetched_beside_it(run, tmp_path):
    write_tree(tmp_path, CUB)  # a folder, where the download is an archive
    code, out, _ = run("fetch", "cub")
    assert code == 0
    assert "CUB_200_2011 is there already; nothing to fetch" in out
