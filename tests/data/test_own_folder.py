import os

import pytest
from PIL import Image

from tests.data.makers import encoded, picture, write_tree, write_zip
from towpath.data import DataError, EpisodeSampler, EpisodeSpec, load, load_folder, load_images
from towpath.data.images import decode
from towpath.data.own_folder import file_names


def images(*paths: str, mode: str = "RGB") -> dict[str, bytes]:
    return {path: encoded(picture(i, mode)) for i, path in enumerate(paths)}


def grid(*folders: str, each: int = 3, mode: str = "RGB") -> dict[str, bytes]:
    return images(*(f"{folder}/{i}.png" for folder in folders for i in range(each)), mode=mode)


def names(pool) -> set[str]:
    return {entry.name for entry in pool.classes}


def test_class_folders_are_dealt_to_splits_that_do_not_overlap(tmp_path):
    files = grid(*(f"class {i}" for i in range(25)), each=1)
    parts = {
        s: load_folder(write_tree(tmp_path, files), s) for s in ("train", "validation", "test")
    }
    assert [len(parts[s]) for s in parts] == [16, 4, 5]
    assert set.union(*(names(pool) for pool in parts.values())) == {f"class {i}" for i in range(25)}
    assert len(load_folder(tmp_path, "all")) == 25
    assert "class/images" in parts["train"].notes[0]


def test_the_deal_depends_on_names_alone(tmp_path):
    files = grid(*(f"c{i}" for i in range(10)), each=1)
    here = load_folder(write_tree(tmp_path / "here", files), "test")
    there = load_folder(write_zip(tmp_path / "there.zip", files), "test")
    assert names(here) == names(there)


def test_split_folders_are_kept(tmp_path):
    files = grid("train/cat", "train/dog", "val/cow", "test/owl", "test/bee")
    root = write_tree(tmp_path, files)
    assert names(load_folder(root, "train")) == {"cat", "dog"}
    assert names(load_folder(root, "validation")) == {"cow"}
    assert names(load_folder(root, "test")) == {"owl", "bee"}
    assert "split/class/images" in load_folder(root, "test").notes[0]


def test_group_folders_are_groups_and_whole_groups_are_dealt(tmp_path):
    files = grid(*(f"g{g}/c{c}" for g in range(5) for c in range(2)), each=1)
    root = write_tree(tmp_path, files)
    pools = [load_folder(root, s) for s in ("train", "validation", "test")]
    assert [len(pool.groups) for pool in pools] == [3, 1, 1]
    assert all(len(own) == 2 for pool in pools for own in pool.groups.values())


def test_split_and_group_together_are_understood(tmp_path):
    root = write_tree(tmp_path, grid("train/birds/owl", "train/birds/jay", "test/fish/eel"))
    pool = load_folder(root, "train")
    assert list(pool.groups) == ["birds"]
    assert "split/group/class/images" in pool.notes[0]


def test_an_archive_with_one_outer_folder_is_understood(tmp_path):
    archive = write_zip(tmp_path / "mine.zip", grid("mine/a", "mine/b", "mine/c"))
    pool = load_folder(archive, "all")
    assert names(pool) == {"a", "b", "c"}
    assert pool.name == "mine"


def test_mixed_modes_sizes_and_formats_become_one_array(tmp_path):
    files = {
        "a/grey.png": encoded(picture(0, "L", (30, 20))),
        "a/one.tiff": encoded(picture(1, "1", (7, 9)), "TIFF"),
        "b/colour.JPG": encoded(picture(2, "RGB", (100, 10)), "JPEG"),
        "b/clear.webp": encoded(picture(3, "RGBA", (12, 12)), "WEBP"),
        "c/x.gif": encoded(picture(4, "P", (5, 5)), "GIF"),
        "c/y.bmp": encoded(picture(5, "RGB", (64, 64)), "BMP"),
    }
    pool = load_folder(write_tree(tmp_path, files), "all", image_size=16)
    assert pool.images.shape == (6, 3, 16, 16)
    grey = load_folder(tmp_path, "all", image_size=16, channels=1)
    assert grey.images.shape == (6, 1, 16, 16)


def test_grey_images_make_one_channel_by_themselves(tmp_path):
    root = write_tree(tmp_path, grid("a", "b", mode="L"))
    assert load_folder(root, "all").image_shape == (1, 84, 84)


def test_names_in_any_script_are_kept(tmp_path):
    classes = ["ქართული", "עברית", "漢字", "émoji 🐈", "a b", "-x", "[red]bold"]
    pool = load_folder(write_tree(tmp_path, grid(*classes)), "all")
    assert names(pool) == set(classes)
    episode = EpisodeSampler(pool, EpisodeSpec(5, 1, 2)).episode(0)
    assert set(episode.info["classes"]) <= set(classes)


@pytest.mark.skipif(os.name == "nt", reason="file names are unicode there")
def test_a_name_that_is_no_unicode_loads(tmp_path):
    broken = os.fsencode(tmp_path) + b"/cl\xffass"
    try:
        os.mkdir(broken)
    except OSError:
        pytest.skip("this file system takes unicode names only")
    with open(broken + b"/a.png", "wb") as stream:
        stream.write(encoded(picture(0)))
    write_tree(tmp_path, grid("plain"))
    for _ in range(2):
        assert names(load_folder(tmp_path, "all")) == {"plain", "cl\udcffass"}


def test_other_files_are_ignored_and_said(tmp_path):
    root = write_tree(
        tmp_path,
        grid("a", "b") | {"README.txt": b"hello", "a/Thumbs.db": b"", "a/.hidden.png": b""},
    )
    pool = load_folder(root, "all")
    assert pool.image_count == 6
    assert any("ignored 1 files" in note and "README.txt" in note for note in pool.notes)


def test_one_image_a_class_loads_and_asking_for_more_names_the_class(tmp_path):
    pool = load_folder(write_tree(tmp_path, grid("a", "b", "c", each=1)), "all")
    assert pool.image_count == 3
    with pytest.raises(DataError, match=r"has 1 images; shots and query need 2"):
        EpisodeSampler(pool, EpisodeSpec(2, 1, 1))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "0 files and none is an image"),
        ({"a.txt": b""}, "1 files and none is an image"),
        (images("loose.png"), "no layout explains.*'loose.png'"),
        (images("a/1.png", "b/c/1.png"), "different depths.*'a/1.png'.*'b/c/1.png'"),
        (images("x/y/z/1.png"), "three folders deep"),
        (images("w/x/y/z/1.png"), "no layout explains"),
        (images("a/1.png") | {"b/2.png": b""}, "'b/2.png' has zero bytes"),
        (images("a/1.png") | {"b/2.png": b"junk"}, "'b/2.png' cannot be read"),
        ({"cache.pkl": b"cposix\nsystem\n"}, "pickled data.*refused"),
    ],
)
def test_what_cannot_be_understood_is_a_clear_error(tmp_path, files, message):
    (tmp_path / "own").mkdir()
    with pytest.raises(DataError, match=message):
        load_folder(write_tree(tmp_path / "own", files), "all")


def test_an_empty_class_is_named(tmp_path):
    write_tree(tmp_path, grid("a", "b"))
    (tmp_path / "hollow").mkdir()
    with pytest.raises(DataError, match=r"'hollow'.*no images"):
        load_folder(tmp_path, "all")


def test_a_folder_that_links_to_itself_ends(tmp_path):
    write_tree(tmp_path, grid("a", "b"))
    (tmp_path / "a" / "again").symlink_to(tmp_path / "a")
    assert len(load_folder(tmp_path, "all")) == 2


def test_too_few_classes_to_deal_are_all_for_training(tmp_path):
    root = write_tree(tmp_path, grid("a", "b"))
    assert len(load_folder(root, "train")) == 2
    with pytest.raises(DataError, match="no split 'test'; it has train"):
        load_folder(root, "test")


@pytest.mark.parametrize("count", range(3, 30))
def test_every_split_gets_something_from_three_classes_on(tmp_path, count):
    tiny = encoded(Image.new("L", (2, 2)))
    root = write_tree(tmp_path, {f"c{i}/x.png": tiny for i in range(count)})
    sizes = [len(load_folder(root, s, image_size=2)) for s in ("train", "validation", "test")]
    assert min(sizes) >= 1
    assert sum(sizes) == count
    assert sizes[0] >= sizes[1]


def test_load_takes_the_path_of_a_folder(tmp_path):
    root = write_tree(tmp_path, grid("a", "b"))
    assert len(load(str(root), split="all", image_size=8)) == 2


def test_wrong_options_are_refused(tmp_path):
    root = write_tree(tmp_path, grid("a", "b"))
    with pytest.raises(DataError, match="channels 2"):
        load_folder(root, channels=2)
    with pytest.raises(DataError, match="Did you mean 'train'"):
        load_folder(root, "trian")
    with pytest.raises(DataError, match="not there"):
        load_folder(tmp_path / "nowhere")
    with pytest.raises(DataError, match="does not take these options"):
        load(str(root), colour=True)
    with pytest.raises(DataError, match="image_size is 0"):
        load_folder(root, image_size=0)


def test_a_class_in_two_splits_is_refused_for_evaluation_unless_it_is_allowed(tmp_path):
    root = write_tree(tmp_path, grid("train/cat", "train/dog", "valid/cat", "test/cat", "test/owl"))
    for split, other in (("validation", "test and train"), ("test", "train and validation")):
        with pytest.raises(DataError, match=f"'cat' in {split} and in {other}") as refusal:
            load(str(root), split=split, image_size=8)
        assert "data.shared_classes: true" in str(refusal.value)
        allowed = load_images(str(root), split=split, image_size=8, shared_classes=True)
        assert "cat" in [entry.name for entry in allowed.classes]
    train = load_images(str(root), split="train", image_size=8)  # nothing is judged on it
    assert any("1 classes are in more than one split" in note for note in train.notes)
    assert len(load(str(root), split="all", image_size=8)) == 5


def test_the_same_word_in_two_groups_is_two_classes(tmp_path):
    root = write_tree(tmp_path, grid("train/birds/small", "test/fish/small"))
    assert len(load(str(root), split="test", image_size=8)) == 1


def test_file_names_are_in_the_order_of_the_images(tmp_path):
    root = write_tree(tmp_path, grid("train/g/cat", "train/g/dog", "val/h/cow", each=4))
    pool, names_of = load_folder(root, "train", image_size=12), file_names(root, "train")
    assert set(names_of) == {"g/cat", "g/dog"}
    for position, entry in enumerate(pool.classes):
        files = names_of[entry.name]
        assert len(files) == entry.count
        for image, file in zip(pool.take(position, range(4)), files, strict=True):
            assert (image == decode((root / file).read_bytes(), file, (12, 12), 3)).all()
    assert set(file_names(root, "all")) == {"g/cat", "g/dog", "h/cow"}
