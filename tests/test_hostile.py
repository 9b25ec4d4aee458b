"""What nobody writes by accident, and what one wrong key makes of a number: refused at once.

Each case was a traceback, a hang, a raw number of the system or a silent surprise. Each must be
exit code 2, one sentence of a readable length, and nothing left behind.
"""

import csv
import importlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from PIL import Image

import towpath
from towpath.cli.main import main
from towpath.wording import LONGEST_MESSAGE

from .refusal import refused
from .training.runs import TINY, run, tiny

pytestmark = pytest.mark.timeout(120)
NEW = ["--out", "new"]
NOBODY = 65534
"""a user without rights, on every Linux"""
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
MERGE_BOMB = "a0: &a0 {k: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 12)
)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 2000))

TEXTS = {
    "lists 2,000 deep": ("about: " + "[" * 2000 + "]" * 2000, "40 levels deep"),
    "mappings 2,000 deep": ("\n".join(" " * i + "a:" for i in range(500)), "40 levels deep"),
    "aliases 2,000 deep": (CHAIN, "nest more than 40 levels"),
    "a value that holds itself": ("about: &a [*a]\n", "holds itself"),
    "a mapping that holds itself": ("small: &a {b: *a}\n", "holds itself"),
    "an alias bomb": (BOMB, "more than 100,000 values"),
    "a bomb of merged keys": (MERGE_BOMB, "more than 100,000 values"),
    "a key twice": ("seed: 1\nthreads: 1\nseed: 2\n", "'seed' stands twice, in lines 1 and 3"),
    "a key twice within": ("training: {steps: 3, steps: 4}\n", "'steps' stands twice"),
    "a number of 5,000 digits": ("seed: " + "9" * 5000, "digits"),
    "a hexadecimal number beyond use": ("seed: 0x" + "f" * 5000, "beyond all use"),
    "a day that is none": ("about: 2024-02-31\n", "day"),
    "two documents": ("seed: 1\n---\nseed: 2\n", "single document"),
    "a section name of a megabyte": ("? " + "x" * 1_000_000 + "\n: 1\n", "no section"),
    "a value of a megabyte": (f"training: {'x' * 1_000_000}\n", "section of options"),
    "a recipe of two megabytes": ("#" * 2_100_000, "bytes"),
    "a name with a NUL byte": (yaml.safe_dump({**TINY, "name": "a\0b"}), "'a\\x00b"),
    "data with a NUL byte": (yaml.safe_dump({**TINY, "data": "a\0b"}), "'a\\x00b'"),
    "data of a name too long": (yaml.safe_dump({**TINY, "data": "x" * 5000}), "too long"),
    "a name that leads out": (yaml.safe_dump({**TINY, "name": "../../outside"}), "outside runs"),
    "a name that is a path": (yaml.safe_dump({**TINY, "name": "/tmp/outside"}), "outside runs"),
}

NUMBERS = {
    "data.drawings": (10**30, "at most 10,000"),
    "data.seed": (2**70, "at most 9,223,372,036,854,775,807"),
    "episodes.ways": (10**30, "Lower ways"),
    "episodes.query": (10**30, "query"),
    "episodes.zipf_exponent": (1e300, "at most 100"),
    "episodes.groups": ({"Coptic": float("nan")}, "finite weights"),
    "backbone.hidden": ([10**9], "at most 1,000,000"),
    "backbone": ({"name": "mlp", "hidden": [1_000_000, 1_000_000]}, "GiB of memory"),
    "backbone.name": ({"name": "conv4", "filters": 10**30}, "at most 65,536"),
    "learner": ({"name": "maml", "adaptation_steps": 10**9}, "at most 1,000"),
    "trusted.count": (2**31, "at most 100,000"),
    "trusted": ({"count": 100_000, "per_batch": 1}, "GiB of memory"),
    "training.steps": (10**30, "at most 100,000,000"),
    "training.horizon": (2**31, "at most 10,000"),
    "training.meta_batch_size": (2147483648, "at most 100,000"),
    "training": ({"horizon": 10_000, "meta_batch_size": 100_000}, "GiB of memory"),
    "validation.tasks": (10**30, "at most 10,000,000"),
    "test.tasks": (10**30, "at most 10,000,000"),
    "probes": ([{"name": "p", "horizon": 2**31}], "probes[0].horizon"),
    "seed": (2**64, "at most 9,223,372,036,854,775,807"),
    "threads": (10**6, "at most 1,024"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A good recipe, a finished run, and images to predict with."""
    place = tmp_path_factory.mktemp("hostile")
    short = {"training": {"steps": 2, "horizon": 2, "meta_batch_size": 2}, "test": {"tasks": 2}}
    (place / "tiny.yaml").write_text(yaml.safe_dump({**TINY, **short}))
    run(place / "done", tiny(**short))
    for name in ("support/a", "support/b", "query"):
        (place / name).mkdir(parents=True)
    for name in ("support/a/1.png", "support/b/1.png", "query/q.png"):
        Image.new("L", (28, 28), len(name)).save(place / name)
    return place


@pytest.fixture
def here(folder, monkeypatch, capsys):
    """`answer(argv)`: the sentence, after a look at what was left behind; in the folder."""
    monkeypatch.chdir(folder)

    def answer(argv):
        before = listing(folder)
        said = refused(argv, capsys)
        assert len(said) <= LONGEST_MESSAGE + 60
        assert listing(folder) == before
        return said

    return answer


def listing(place):
    return sorted(str(p.relative_to(place)) for p in place.rglob("*"))


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_recipe_is_refused_in_a_sentence(name, here):
    text, found = TEXTS[name]
    Path("case.yaml").write_text(text)
    assert found in here(["train", "case.yaml"])


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_beyond_all_use_is_refused_before_anything_is_made(name, here, monkeypatch):
    monkeypatch.setattr("towpath.training.setup.free_memory", lambda device: 2**30)
    value, found = NUMBERS[name]
    section, _, key = name.partition(".")
    inside = value if not key or key == "name" else {**TINY.get(section, {}), key: value}
    Path("case.yaml").write_text(yaml.safe_dump({**TINY, section: inside}))
    assert found in here(["train", "case.yaml", *NEW])


def test_an_image_size_beyond_all_use_is_refused(here):
    override = ["--data", "{name: support}", "--data.image_size", str(10**30)]
    assert "at most 4,096" in here(["train", "tiny.yaml", *override, *NEW])


def test_a_list_of_widths_is_called_a_list(here):
    assert "a list of whole numbers" in here(["train", "tiny.yaml", "--backbone.hidden", "wide"])


def test_a_home_of_nobody_is_a_file_that_is_not_there(here):
    assert "No such file" in here(["train", "~nouser-of-this-name/x.yaml"])


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "loop"])
def test_a_recipe_is_read_from_a_regular_file_only(kind, here):
    irregular(Path(f"{kind}.yaml"), kind)
    said = here(["train", f"{kind}.yaml", *NEW])
    assert {"pipe": "named pipe", "loop": "circle"}.get(kind, kind) in said


def irregular(path, kind):
    """Something at the path that is no regular file."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "link":
        path.symlink_to("tiny.yaml")
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))


def identity(path):
    """What of a path changes when it is replaced or written to; a look at it changes the time of
    the last access alone."""
    found = path.lstat()
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def commands_with(out):
    """Every command that leaves a file at a place which its user names."""
    predict = ["predict", "done", "--support", "support", "--query", "query"]
    return {
        "predict": [*predict, "--out", out],
        "report": ["report", "done", "--out", out],
        "recipes copy": ["recipes", "copy", "demo", "--out", out],
    }


@pytest.mark.parametrize("command", commands_with(""))
@pytest.mark.parametrize("kind", ["pipe", "socket", "link", "loop", "folder"])
@pytest.mark.parametrize("force", [False, True])
def test_only_a_regular_file_is_replaced(command, kind, force, here):
    path = Path(f"{kind}-{command.split()[0]}-{force}")
    irregular(path, kind)
    before = identity(path)
    said = here(commands_with(str(path))[command] + ["--force"] * force)
    assert str(path) in said
    assert identity(path) == before


@pytest.mark.parametrize("command", commands_with(""))
def test_what_somebody_made_is_replaced_by_force_only(command, here, capsys):
    path = Path(f"theirs-{command.split()[0]}")
    path.write_text("months of work")
    argv = commands_with(str(path))[command]
    assert "--force" in here(argv)
    assert path.read_text() == "months of work"
    assert main([*argv, "--force"]) == 0
    assert path.read_text() != "months of work"
    capsys.readouterr()


def test_a_report_of_ours_is_replaced_without_asking(here, capsys):
    argv = commands_with("twice.html")["report"]
    assert main(argv) == 0
    assert main(argv) == 0
    assert "The report is in twice.html" in capsys.readouterr().out


def test_contact_sheets_replace_their_like_and_nothing_else(here, capsys):
    argv = ["data", "preview", "glyphs", "--out", "sheets"]
    assert main(argv) == 0
    assert main(argv) == 0
    capsys.readouterr()
    Image.new("L", (9, 9)).save("sheets/glyphs-test.png")
    assert "glyphs-test.png exists" in here(argv)
    assert main([*argv, "--force"]) == 0


@pytest.mark.parametrize(
    ("out", "found"),
    [
        ("x" * 5000, "too long"),
        ("loop-out/run", "circle"),
        ("tiny.yaml/run", "another"),
        ("a\0b", "null byte"),
    ],
)
@pytest.mark.parametrize("command", ["train", "predict", "report", "recipes copy"])
def test_a_place_that_cannot_be_written_is_named_with_the_reason(command, out, found, here):
    if not os.path.lexists("loop-out"):
        irregular(Path("loop-out"), "loop")
    train = {"train": ["train", "tiny.yaml", "--out", out]}
    assert found in here({**train, **commands_with(out)}[command])


@pytest.mark.parametrize("package", ["", ".", "a b", "a.b"])
def test_a_package_to_import_from_has_a_name(package, here):
    argv = ["train", "tiny.yaml", "--allow-import", package, "--weighter.name", ".x:Y"]
    assert "expected the name of a package" in here(argv)


@pytest.mark.parametrize("name", [".x:Y", "a..b:C", ":C", "a:b:c", "a b:C"])
def test_an_import_path_has_names_between_its_dots(name, here):
    assert "package.module:Class" in here(["train", "tiny.yaml", "--weighter.name", name])


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("1 +", "SyntaxError"),
        ("Mine = 3", "which is 3"),
    ],
)
def test_a_module_of_the_users_that_fails_is_named_with_its_error(
    content, found, here, tmp_path, monkeypatch
):
    name = f"theirs_{abs(hash(content))}"
    (tmp_path / f"{name}.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    argv = ["train", "tiny.yaml", "--weighter.name", f"{name}:Mine", "--allow-import", name]
    assert found in here(argv)


def test_a_full_disk_is_called_that_and_nothing_is_left(here, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("towpath.files.os.fsync", full)
    assert "the disk is full" in here(["train", "tiny.yaml", *NEW])
    assert "the disk is full" in here(["recipes", "copy", "demo", "--out", "deep/in/copy.yaml"])


def test_a_disk_that_fills_before_the_first_checkpoint_keeps_the_run_that_it_names(
    folder, monkeypatch, capsys
):
    monkeypatch.chdir(folder)
    synced, real = [], os.fsync

    def full(descriptor):
        synced.append(descriptor)
        if len(synced) > 1:  # the configuration still had room
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr("towpath.files.os.fsync", full)
    assert main(["train", "tiny.yaml", "--out", "filled"]) == 1
    assert "towpath resume filled" in capsys.readouterr().err
    monkeypatch.setattr("towpath.files.os.fsync", real)
    assert main(["resume", "filled"]) == 0


def test_a_folder_that_is_no_run_is_called_what_it_is(here, capsys):
    assert "does not exist" in here(["evaluate", "nowhere"])
    assert main(["compare", "tiny.yaml", "--weighters", "uniform", "--out", "both"]) == 0
    capsys.readouterr()
    assert "comparison" in here(["evaluate", "both"])
    assert "uniform-seed0" in here(["audit", "both"])


@pytest.mark.parametrize("out", ["a[/b]c", "run[v2]", "[red]x"])
def test_signs_of_markup_in_a_path_are_part_of_the_path(out, here, capsys):
    assert main(["train", "tiny.yaml", "--out", out]) == 0
    assert f"The run is in {out}" in capsys.readouterr().out
    assert main(["evaluate", out, "--tasks", "2"]) == 0
    assert f"{out}, parameters of step" in capsys.readouterr().out
    assert f"towpath resume {out}" in here(["train", "tiny.yaml", "--out", out])


def test_cells_that_a_spreadsheet_would_run_are_written_as_text(folder, tmp_path, capsys):
    names = ['=HYPERLINK("x")', "+1", "plain"]
    for name in names:
        (tmp_path / "support" / name).mkdir(parents=True)
        Image.new("L", (28, 28), len(name)).save(tmp_path / "support" / name / "1.png")
    (tmp_path / "query").mkdir()
    Image.new("L", (28, 28)).save(tmp_path / "query" / "@SUM(A1).png")
    out = tmp_path / "p.csv"
    argv = ["predict", str(folder / "done"), "--support", str(tmp_path / "support")]
    assert main([*argv, "--query", str(tmp_path / "query"), "--out", str(out)]) == 0
    head, row = csv.reader(out.read_text().splitlines())
    assert head == ["file", "predicted", "'+1", '\'=HYPERLINK("x")', "plain"]
    assert row[0] == "'@SUM(A1).png"
    assert row[1] in head[2:]
    assert sum(float(cell) for cell in row[2:]) == pytest.approx(1, abs=1e-5)


def python(code, **options):
    """`python -c code` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code], timeout=100, capture_output=True, text=True, **options
    )


CLOSED = "import os, sys; os.close({0}); os.execv(sys.executable, [sys.executable, *{1!r}])"


@pytest.mark.parametrize("stream", [1, 2])
@pytest.mark.parametrize("argv", [["data", "list"], ["recipes", "show", "demo"], ["nonsense"]])
def test_a_closed_output_is_no_reason_for_a_traceback(stream, argv):
    ended = python(CLOSED.format(stream, ["-m", "towpath", *argv]))
    assert ended.returncode == (2 if argv == ["nonsense"] else 0)
    assert "Traceback" not in ended.stderr + ended.stdout


@pytest.mark.parametrize("argv", [["recipes", "list"], ["recipes", "show", "demo"], ["--version"]])
def test_a_reader_who_has_seen_enough_ends_it_quietly(argv):
    command = [sys.executable, "-m", "towpath", *argv]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(100) in (0, 1)


@pytest.fixture
def ordinary(folder, monkeypatch):
    """A folder with the run in it, seen by a user who may not do everything, root or not."""
    place = Path(tempfile.mkdtemp(prefix="towpath-test-"))
    root = os.geteuid() == 0
    try:
        shutil.copytree(folder / "done", place / "done")
        shutil.copy(folder / "tiny.yaml", place)
        (place / "closed").mkdir()
        monkeypatch.setenv("TOWPATH_CACHE", str(place / "cache"))
        if root:
            # what a command imports late may lie where root alone may read it
            for command in ("train", "report", "evaluate", "resume", "recipes"):
                importlib.import_module(f"towpath.cli.{command}")
            for late in ("reports", "reports.charts.figures", "training.loop", "recipes.reading"):
                importlib.import_module(f"towpath.{late}")
            for path in (place, *place.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
            os.seteuid(NOBODY)
            if not os.access(towpath.__file__, os.R_OK, effective_ids=True):
                pytest.skip("the checkout lies where root alone may read it")
        yield place
    finally:
        if root:
            os.seteuid(0)
        for path in place.rglob("*"):
            path.chmod(0o700)
        shutil.rmtree(place)


def test_a_permission_problem_is_called_that(ordinary, capsys):
    done, closed = ordinary / "done", ordinary / "closed"
    closed.chmod(0o500)
    for argv in (
        ["train", str(ordinary / "tiny.yaml"), "--out", str(closed / "run")],
        ["report", str(done), "--out", str(closed / "report.html")],
        ["recipes", "copy", "demo", "--out", str(closed / "demo.yaml")],
    ):
        assert "no permission" in refused(argv, capsys)
    assert list(closed.iterdir()) == []
    (done / "config.yaml").chmod(0)
    assert "config.yaml cannot be read (no permission)" in refused(["resume", str(done)], capsys)
    (ordinary / "tiny.yaml").chmod(0)
    assert "no permission" in refused(["train", str(ordinary / "tiny.yaml")], capsys)


def test_a_checkpoint_that_may_not_be_read_is_not_called_damaged(ordinary, capsys):
    done = ordinary / "done"
    for checkpoint in (done / "checkpoints").iterdir():
        checkpoint.chmod(0)
    (done / "summary.json").unlink()
    for argv in (["evaluate", str(done), "--tasks", "2"], ["resume", str(done)]):
        said = refused(argv, capsys)
        assert "damaged" not in said
        assert "Delete" not in said
        assert "no permission" in said
