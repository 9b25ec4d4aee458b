"""`make bench`: one command that runs to its end, and one page of everything that was measured."""

import importlib
import sys
from pathlib import Path

import pytest
from benchmarks import __main__ as bench


def test_every_benchmark_of_the_list_can_be_run():
    for name in bench.ALL + bench.BY_NAME:
        assert callable(importlib.import_module(f"benchmarks.{name}").main)


def test_the_page_has_what_all_printed_and_says_which_failed(tmp_path, monkeypatch, capsys):
    found = {
        "start": bench.Section("start", "\n== start\n  1.10 x torch\n", 0),
        "memory": bench.Section("memory", "Traceback ...\n", 1),
        "data": bench.Section("data", "== data\n", 0),
    }
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "ALL", tuple(found))
    monkeypatch.setattr(bench, "measured", found.__getitem__)
    monkeypatch.setattr(sys, "argv", ["benchmarks"])
    with pytest.raises(SystemExit, match="These failed: memory"):
        bench.main()
    text = Path("bench-results/page.md").read_text(encoding="utf-8")
    assert text.index("## start") < text.index("## memory") < text.index("## data")
    assert "== start\n  1.10 x torch" in text
    assert text.count("This benchmark failed") == 1
    assert "3 benchmarks" in capsys.readouterr().out


def test_a_benchmark_runs_in_a_process_of_its_own_and_its_output_is_kept(capsys):
    section = bench.measured("no-such-benchmark")
    assert section.code == 1
    assert "expected one of start, learners" in section.printed
    assert section.printed in capsys.readouterr().out


@pytest.mark.parametrize("name", [*bench.ALL, *bench.BY_NAME])
def test_asking_for_help_prints_what_a_benchmark_does_and_measures_nothing(name, capsys):
    bench.one(name, ["--help"])
    module = importlib.import_module(f"benchmarks.{name}")
    assert capsys.readouterr().out.strip() == str(module.__doc__).strip()
