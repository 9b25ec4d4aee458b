import pytest

from tests.cli.data.said import one_clear_sentence
from tests.data.makers import encoded, picture, write_tree
from tests.data.test_loaders import CUB, mini_tables, omniglot_files
from towpath.data import verify
from towpath.data.errors import DataError
from towpath.data.verification import require


def test_verify_accepts_glyphs_and_skips_what_is_absent(run):
    code, out, _ = run("verify")
    assert code == 0
    assert "682 characters in 17 scripts, 20 drawings each" in out
    assert "omniglot: not in" in out


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        (
            "omniglot",
            omniglot_files("background") | omniglot_files("evaluation"),
            "6 characters in 3 alphabets, 3 images each; expected 964 in 30",
        ),
        ("omniglot", omniglot_files("background"), "images_evaluation is not in"),
        ("mini-imagenet", mini_tables(), "train has 2 classes; expected 64"),
        ("cub", CUB, "8 classes with 16 images; expected 200 with 11,788"),
    ],
)
def test_verify_answers_wrong_counts_with_found_and_expected(run, tmp_path, name, files, message):
    write_tree(tmp_path, files)
    code, out, err = run("verify", name)
    assert code == 2
    assert "COUNTS ARE WRONG" in out
    assert message in err
    assert one_clear_sentence(err)
    report = verify(name, tmp_path)
    assert not report.ok
    with pytest.raises(DataError):
        require(report)


def test_verify_of_an_absent_set_tells_how_to_get_it(run):
    code, _, err = run("verify", "omniglot")
    assert code == 2
    assert "towpath data fetch omniglot" in err
    assert one_clear_sentence(err)


def test_verify_says_what_it_understood_of_an_own_folder(run, tmp_path):
    files = {f"own/{c}/{i}.png": encoded(picture(i)) for c in "abcde" for i in range(4)}
    write_tree(tmp_path, files)
    code, out, _ = run("verify", str(tmp_path / "own"))
    assert code == 0
    assert "layout: class/images, 20 images in 5 classes" in out
