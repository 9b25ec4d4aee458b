import numpy as np
from PIL import Image

from tests.data.makers import encoded, picture, write_tree


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
