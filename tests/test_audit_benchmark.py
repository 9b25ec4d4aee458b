"""The folders of the audit's benchmark: what is scrambled in them, and what is not."""

from collections import Counter
from pathlib import Path

from benchmarks.audit import Source, build

from tests.data.makers import write_zip


def test_only_the_scrambled_classes_lose_their_images_and_none_is_lost(tmp_path):
    files = {
        f"set/images/{c:02}.Name/{i}.jpg": f"{c:02}-{i}".encode()
        for c in range(20)
        for i in range(12)
    }
    parts = {"train": 10, "checked": 4, "validation": 3, "test": 3}
    source = Source(write_zip(tmp_path / "set.zip", files), parts, False, {})
    scrambled = build(source, tmp_path / "out", seed=1)
    folders: dict[str, list[Path]] = {}
    for path in (tmp_path / "out").rglob("*.jpg"):
        folders.setdefault(path.parent.relative_to(tmp_path / "out").as_posix(), []).append(path)
    split = {name: name.rpartition("/")[0] for name in folders}
    assert Counter(split.values()) == {
        "images/train": 10,
        "checked": 4,
        "images/validation": 3,
        "images/test": 3,
    }
    assert len(scrambled) == 4
    assert {f"images/train/{name}" for name in scrambled} <= set(folders)
    found = [path.read_bytes() for paths in folders.values() for path in paths]
    assert sorted(found) == sorted(files.values())
    for name, paths in folders.items():
        owners = {path.read_text()[:2] for path in paths}
        own = name.rpartition("/")[2]
        assert len(paths) == 12
        assert (owners == {own[:2]}) == (own not in scrambled)
        assert own not in scrambled or owners <= {other[:2] for other in scrambled}
    again = build(source, tmp_path / "again", seed=1)
    assert again == scrambled
