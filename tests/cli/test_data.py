import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import towpath
from tests.data.makers import encoded, picture, write_tree
from tests.data.test_loaders import CUB, mini_tables, omniglot_files
from towpath.cli import main as cli
from towpath.data import SETS, verify
from towpath.data.errors import DataError
from towpath.data.verification import require


@pytest.fixture
def run(capsys, tmp_path):
    def run(*words: str, root: Path = tmp_path) -> tuple[int, str, str]:
        code = cli.main(["data", *words, "--data-root", str(root)])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def one_clear_sentence(text: str) -> bool:
    return text.count("\n") == 1 and "Traceback" not in text and "usage:" not in text


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fetch", "omnigloot"), "Did you mean 'omniglot'"),
        (("verify", "glyps"), "Did you mean 'glyphs'"),
        (("verfiy",), "Did you mean 'verify'"),
        (("fetch", "mini-imagenet"), "image-net.org"),
        (("fetch",), "NAME"),
        (("preview", "cub"), "CUB-200-2011 was looked for"),
        (("list", "--colour"), "--colour"),
    ],
)
def test_a_users_mistake_is_one_sentence_and_exit_code_2(run, words, message):
    code, _, err = run(*words)
    assert code == 2
    assert message in err
    assert one_clear_sentence(err)


def test_glyphs_need_no_fetching(run):
    code, out, _ = run("fetch", "glyphs")
    assert code == 0
    assert "built in" in out


def test_preview_makes_a_sheet_a_split_and_a_few_episodes(run, tmp_path):
    out = tmp_path / "sheets"
    code, text, _ = run("preview", "glyphs", "--out", str(out))
    assert code == 0
    assert "synthetic" in text
    names = sorted(path.name for path in out.iterdir())
    assert names == [
        "glyphs-episode-0.png",
        "glyphs-episode-1.png",
        "glyphs-episode-2.png",
        "glyphs-test.png",
        "glyphs-train.png",
        "glyphs-validation.png",
    ]
    for path in out.iterdir():
        with Image.open(path) as sheet:
            sheet.load()
            assert sheet.width > 400
            grey = np.asarray(sheet.convert("L"))
            assert (grey.min() < 50, grey.max() > 200) == (True, True)


def test_preview_of_an_own_folder_in_colour_with_any_names(run, tmp_path):
    files = {f"own/[b]名{c}/{i}.png": encoded(picture(i)) for c in "abc" for i in range(3)}
    write_tree(tmp_path, files)
    code, out, _ = run("preview", str(tmp_path / "own"), "--out", str(tmp_path / "out"))
    assert code == 0
    assert "class/images" in out
    assert (tmp_path / "out" / "own-train.png").is_file()


def test_preview_shows_the_tasks_that_a_recipe_trains_on(run, tmp_path):
    names = [f"own/train/{g}/{g}{c}" for g in "xy" for c in range(4)]
    write_tree(tmp_path, {f"{n}/{i}.png": encoded(picture(i)) for n in names for i in range(7)})
    own, out = str(tmp_path / "own"), tmp_path / "out"

    def height(*words):
        code, text, _ = run("preview", own, "--out", str(out), *words)
        assert code == 0
        with Image.open(out / "own-episode-0.png") as sheet:
            return sheet.height, text

    three, said = height("--recipe", "your-own-data")
    assert "3 classes of all groups, shots 1 and 5 query images a class" in said
    two, said = height("--episodes.ways", "2", "--episodes.within_group", "true")
    assert "2 classes of one group" in said
    assert two < three
    _, said = height()
    assert "--recipe RECIPE shows those that a recipe trains on" in said


def test_preview_refuses_tasks_that_the_data_do_not_give(run, tmp_path):
    write_tree(
        tmp_path, {f"own/{c}/{i}.png": encoded(picture(i)) for c in "abcdef" for i in range(3)}
    )
    code, _, err = run(
        "preview",
        str(tmp_path / "own"),
        "--out",
        str(tmp_path / "out"),
        "--recipe",
        "your-own-data",
    )
    assert code == 2
    assert "Lower shots or query" in err
    assert not (tmp_path / "out").exists()


def test_preview_shows_grey_photographs_as_they_are(run, tmp_path):
    night = Image.new("L", (12, 12), 20)
    files = {f"own/train/{c}/{i}.png": encoded(night) for c in "abc" for i in range(3)}
    write_tree(tmp_path, files)
    code, *_ = run("preview", str(tmp_path / "own"), "--out", str(tmp_path / "out"))
    assert code == 0
    for name in ("own-train.png", "own-episode-0.png"):
        with Image.open(tmp_path / "out" / name) as sheet:
            grey = np.asarray(sheet.convert("L"))
        # only strokes are stored with ink = 1 and shown the other way round; some pixels of the
        # labels' letters may be of any grey
        assert (grey == 20).sum() > 2000
        assert (grey == 255 - 20).sum() < 200


def test_preview_with_one_image_a_class_shows_no_episode(run, tmp_path):
    write_tree(tmp_path, {f"own/{c}/1.png": encoded(picture(0)) for c in "abc"})
    code, out, _ = run("preview", str(tmp_path / "own"), "--out", str(tmp_path / "out"))
    assert code == 0
    assert "too few" in out


def test_preview_into_a_file_is_the_users_mistake(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    code, _, err = run("preview", "glyphs", "--out", str(tmp_path / "file" / "x"))
    assert code == 2
    assert "a part of the path is a file" in err
    assert "Choose another path" in err


def test_a_defect_of_ours_is_exit_code_1(run, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("towpath.cli.data.list_sets", broken)
    code, _, err = run("list")
    assert code == 1
    assert "ZeroDivisionError" in err


def test_help_has_an_example_and_the_module_is_the_same_program():
    environment = os.environ | {"PYTHONPATH": str(Path(towpath.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-m", "towpath", "data", "preview", "--help"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0
    assert "example: towpath data preview glyphs" in done.stdout
