"""The named sets, from small trees in their official layouts; the real ones are in test_real."""

import io
import tarfile

import pytest

from tests.data.makers import encoded, picture, write_tree, write_zip
from towpath.data import SETS, DataError, load_images, present
from towpath.data.omniglot import VALIDATION_ALPHABETS


def omniglot_files(part: str, alphabets=("Greek", "Grantha", "Latin")) -> dict[str, bytes]:
    return {
        f"images_{part}/{alphabet}/character{c:02}/{c:04}_{d:02}.png": encoded(
            picture(c * 10 + d, "1", (105, 105))
        )
        for alphabet in alphabets
        for c in (1, 2)
        for d in (1, 2, 3)
    }


def mini_tables(splits=("train", "val", "test"), column="filename") -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for number, split in enumerate(splits):
        lines = [f"{column},label"]
        for c in range(2):
            for i in range(3):
                name = f"n{number}{c:07}{i:08}.jpg"
                lines.append(f"{name},n{number}{c:07}")
                files[f"images/{name}"] = encoded(picture(i, "RGB", (84, 84)), "JPEG")
        files[f"{split}.csv"] = "\r\n".join(lines).encode()
    return files


def mini_tree() -> dict[str, bytes]:
    return {
        f"{split}/n{c}{split}/{i}.jpg": encoded(picture(i, "RGB", (50, 40)), "JPEG")
        for split in ("train", "val", "test")
        for c in range(2)
        for i in range(3)
    }


CUB = {
    f"CUB_200_2011/images/{number:03}.Bird_{number}/x_{i}.jpg": encoded(
        picture(i, "RGB", (120, 90)), "JPEG"
    )
    for number in range(1, 9)
    for i in range(2)
}


@pytest.mark.parametrize("folder", ["omniglot", "."])
@pytest.mark.parametrize("packed", [True, False])
def test_omniglot_loads_from_zips_and_folders(tmp_path, folder, packed):
    for part in ("background", "evaluation"):
        if packed:
            write_zip(tmp_path / folder / f"images_{part}.zip", omniglot_files(part))
        else:
            write_tree(tmp_path / folder, omniglot_files(part))
    train, validation, test = (
        load_images("omniglot", tmp_path, split) for split in ("train", "validation", "test")
    )
    assert set(train.groups) == {"Greek", "Latin"}
    assert set(validation.groups) == {"Grantha"} <= set(VALIDATION_ALPHABETS)
    assert set(test.groups) == {"Greek", "Grantha", "Latin"}
    assert train.image_shape == (1, 28, 28)
    assert [entry.count for entry in train.classes] == [3] * 4
    assert len(load_images("omniglot", tmp_path, "train", rotations=True)) == 16


def test_omniglot_trains_on_every_background_alphabet_where_asked(tmp_path):
    """As the paper does: validation is then of other characters of the same alphabets."""
    small, large = 14, 40
    for part in ("background", "evaluation"):
        for alphabet, count in (("Grantha", small), ("Greek", large)):
            files = {
                f"images_{part}/{alphabet}/character{c:02}/{c:04}_{d:02}.png": encoded(picture(c))
                for c in range(1, count + 1)
                for d in (1, 2)
            }
            write_tree(tmp_path, files)
    pools = {
        split: load_images("omniglot", tmp_path, split, alphabets=30)
        for split in ("train", "validation", "test")
    }
    names = {split: {entry.name for entry in pool.classes} for split, pool in pools.items()}
    assert set(pools["train"].groups) == {"Grantha", "Greek"}
    assert {g: len(own) for g, own in pools["validation"].groups.items()} == {
        "Grantha": 5,  # a fifth would be 3, too few for a 5-way task
        "Greek": 8,
    }
    assert not names["train"] & names["validation"]
    assert len(names["train"] | names["validation"]) == small + large
    assert len(names["test"]) == small + large
    held_out = [int(n[-2:]) for n in names["validation"] if n.startswith("Greek")]
    assert min(held_out) <= 5
    assert max(held_out) >= 36
    assert any("All 2 background alphabets train" in note for note in pools["train"].notes)
    assert {e.name for e in load_images("omniglot", tmp_path, "train").classes} == {
        f"Greek/character{c:02}" for c in range(1, large + 1)
    }
    with pytest.raises(DataError, match=r"alphabets is 28; expected 25 .* or 30"):
        load_images("omniglot", tmp_path, "train", alphabets=28)


def test_omniglot_ink_is_bright(tmp_path):
    files = omniglot_files("background")
    white = dict.fromkeys(files, encoded(picture(0, "1").point(lambda _: 255).resize((105, 105))))
    write_tree(tmp_path, white)
    assert load_images("omniglot", tmp_path, "train").images.max() == 0


def test_pools_and_the_registry_agree_on_ink_and_on_what_is_synthetic(tmp_path):
    write_zip(tmp_path / "images_evaluation.zip", omniglot_files("evaluation"))
    write_tree(tmp_path / "mini-imagenet", mini_tree())
    write_tree(tmp_path, CUB)
    options = {"glyphs": {"drawings": 1, "scripts": ("Hebrew",)}}
    of_images = {name: entry for name, entry in SETS.items() if name not in ("toxcast", "chembl")}
    for name, entry in of_images.items():
        assert present(name, tmp_path)
        pool = load_images(name, tmp_path, "test", **options.get(name, {}))
        assert (pool.synthetic, pool.ink_is_one) == (entry.synthetic, entry.ink_is_one), name
    assert [name for name, entry in SETS.items() if entry.ink_is_one] == ["glyphs", "omniglot"]
    assert [name for name, entry in SETS.items() if entry.synthetic] == ["glyphs"]


def test_omniglot_with_one_part_loads_it_and_names_the_other(tmp_path):
    write_tree(tmp_path, omniglot_files("background"))
    assert len(load_images("omniglot", tmp_path, "train")) == 4
    with pytest.raises(DataError, match=r"images_evaluation.*towpath data fetch omniglot"):
        load_images("omniglot", tmp_path, "test")
    with pytest.raises(DataError, match="no split 'all'"):
        load_images("omniglot", tmp_path, "all")


def test_omniglot_in_another_layout_says_what_was_expected(tmp_path):
    write_zip(tmp_path / "images_background.zip", {"readme.txt": b"x"})
    with pytest.raises(DataError, match=r"none of them is an Omniglot image; expected"):
        load_images("omniglot", tmp_path, "train")


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("outer", ["", "mini/"])
@pytest.mark.parametrize("files", [mini_tables(), mini_tree()], ids=["csv", "tree"])
def test_mini_imagenet_loads_from_both_layouts(tmp_path, files, outer, packed):
    files = {outer + name: content for name, content in files.items()}
    if packed:
        write_zip(tmp_path / "Mini_ImageNet-v2.zip", files)
    else:
        write_tree(tmp_path / "mini-imagenet", files)
    for split in ("train", "validation", "test"):
        pool = load_images("mini-imagenet", tmp_path, split)
        assert [entry.count for entry in pool.classes] == [3, 3]
        assert pool.image_shape == (3, 84, 84)
        assert len(pool.groups) == 1
    assert len(load_images("mini-imagenet", tmp_path, "all")) == 6


def test_mini_imagenet_as_the_data_folder_itself_loads(tmp_path):
    write_tree(tmp_path, mini_tables())
    assert len(load_images("mini-imagenet", tmp_path, "test")) == 2


@pytest.mark.parametrize("place", ["mini-imagenet-cache-train.pkl", "mini-imagenet/train.pkl"])
def test_a_pickled_mini_imagenet_is_refused_with_the_reason(tmp_path, place):
    write_tree(tmp_path, {place: b"cos\nsystem\n(S'touch harm'\ntR."})
    with pytest.raises(DataError, match="unpickling a download runs whatever code it carries"):
        load_images("mini-imagenet", tmp_path)


def test_mini_imagenet_without_a_known_layout_names_both(tmp_path):
    write_tree(tmp_path / "mini-imagenet", {"something/else.jpg": encoded(picture(0))})
    with pytest.raises(
        DataError, match=r"neither of the two layouts.*train\.csv.*train\|val\|test"
    ):
        load_images("mini-imagenet", tmp_path)


def test_mini_imagenet_with_images_missing_names_the_first(tmp_path):
    files = mini_tables()
    del files["images/n1000000000000001.jpg"]
    write_tree(tmp_path / "mini-imagenet", files)
    with pytest.raises(DataError, match=r"'val.csv'.*names 1 images.*n1000000000000001.jpg"):
        load_images("mini-imagenet", tmp_path)


def test_mini_imagenet_with_other_columns_says_so(tmp_path):
    write_tree(tmp_path / "mini-imagenet", mini_tables(column="file"))
    with pytest.raises(DataError, match=r"columns \['file', 'label'\]; expected filename,label"):
        load_images("mini-imagenet", tmp_path)


def test_mini_imagenet_missing_tells_the_way_by_hand(tmp_path):
    with pytest.raises(DataError, match=r"mini-ImageNet was looked for.*ask for a form"):
        load_images("mini-imagenet", tmp_path)


@pytest.mark.parametrize("kind", ["folder", "zip", "tgz"])
def test_cub_loads_with_the_split_by_class_number(tmp_path, kind):
    masks = {n.replace("images/", "segmentations/").replace("jpg", "png"): b"" for n in CUB}
    files = CUB | masks | {"CUB_200_2011/README": b"text"}
    if kind == "folder":
        write_tree(tmp_path, files)
    elif kind == "zip":
        write_zip(tmp_path / "cub-200-2011.zip", files)
    else:
        with tarfile.open(tmp_path / "CUB_200_2011.tgz", "w:gz") as archive:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    numbers = {
        split: [int(entry.name[:3]) for entry in load_images("cub", tmp_path, split).classes]
        for split in ("train", "validation", "test")
    }
    assert numbers == {"train": [1, 3, 5, 7], "validation": [2, 6], "test": [4, 8]}
    assert load_images("cub", tmp_path, "test").image_shape == (3, 84, 84)


def test_cub_without_birds_says_what_was_expected(tmp_path):
    write_tree(tmp_path / "cub", {"a/b.jpg": b""})
    with pytest.raises(DataError, match=r"no CUB image; expected CUB_200_2011/images"):
        load_images("cub", tmp_path, "test")


@pytest.mark.parametrize("name", ["omniglot", "mini-imagenet", "cub"])
def test_a_damaged_archive_is_a_clear_error(tmp_path, name):
    place = {
        "omniglot": "omniglot/images_background.zip",
        "mini-imagenet": "mini-imagenet.zip",
        "cub": "cub.tgz",
    }[name]
    write_tree(tmp_path, {place: b"PK\x03\x04 not really"})
    with pytest.raises(DataError, match=r"neither a zip nor a tar|cannot be read as an archive"):
        load_images(name, tmp_path, "train")


def test_an_unreadable_image_in_a_set_is_named(tmp_path):
    files = omniglot_files("background")
    broken = sorted(files)[0]
    write_tree(tmp_path, files | {broken: b"\x89PNG broken"})
    with pytest.raises(DataError, match=r"character01/0001_01.png"):
        load_images("omniglot", tmp_path, "train")


def test_an_unknown_set_is_answered_with_the_nearest():
    with pytest.raises(DataError, match="Did you mean 'omniglot'"):
        load_images("omnigot")
    with pytest.raises(DataError, match="Did you mean 'validation'"):
        load_images("glyphs", split="validaton")


def test_the_data_folder_comes_from_the_argument_then_the_environment(tmp_path, monkeypatch):
    write_tree(tmp_path / "a", mini_tables())
    monkeypatch.setenv("TOWPATH_DATA", str(tmp_path / "a"))
    assert len(load_images("mini-imagenet")) == 2
    with pytest.raises(DataError, match=r"/b, which is not there"):
        load_images("mini-imagenet", tmp_path / "b")
