"""Which commands torchrun may start in several processes."""

import pytest

from towpath.cli.main import command_line
from towpath.cli.parser import UsageError
from towpath.cli.ranks import refuse_torchrun, resuming_command


def test_only_training_shares_its_tasks():
    sharing = {"train": ["r"], "resume": ["r"]}
    others = {"compare": ["r"], "evaluate": ["r"], "demo": [], "bench": []}
    for command, words in {**sharing, **others}.items():
        arguments = command_line().parse_args([command, *words])
        assert getattr(arguments, "shares_tasks", False) == (command in sharing), command


def test_other_commands_refuse_torchrun(torchrun):
    with pytest.raises(UsageError, match="compare found 2 processes of torchrun; expected one"):
        refuse_torchrun("compare")


def test_a_run_goes_on_in_as_many_processes(torchrun):
    assert resuming_command("run") == "torchrun --nproc-per-node 2 -m towpath resume run"


def test_alone_nothing_is_refused():
    refuse_torchrun("compare")
    assert resuming_command("run") == "towpath resume run"
