"""What torchrun tells a process through the environment."""

import pytest

from towpath.distributed import torchrun

NAMES = ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@pytest.fixture
def alone(monkeypatch):
    for name in (*NAMES, "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)


def test_a_process_that_nobody_launched_is_alone(alone, monkeypatch):
    monkeypatch.setenv("RANK", "3")  # one variable alone says nothing
    assert not torchrun.is_launched()
    found = (torchrun.launched_rank(), torchrun.launched_size(), torchrun.ranks_of_this_machine())
    assert found == (0, 1, 1)
    assert torchrun.restarts() == 0


def test_a_rank_knows_its_place_and_how_often_it_was_restarted(alone, monkeypatch):
    for name, value in zip(NAMES, ("3", "4", "2", "here", "1"), strict=True):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    found = (torchrun.launched_rank(), torchrun.launched_size(), torchrun.ranks_of_this_machine())
    assert found == (3, 4, 2)
    assert torchrun.restarts() == 1
