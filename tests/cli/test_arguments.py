"""Arguments that several commands share."""

import argparse

import pytest

from tests.refusal import refused
from towpath.cli.arguments import Invocation, chosen_seeds
from towpath.cli.parser import UsageError


def test_a_call_is_remembered_as_it_can_be_typed_again():
    arguments = argparse.Namespace(
        argv=["train", "my recipe.yaml"], data_root="data", allow_import=["mine"]
    )
    call = Invocation.of(arguments)
    assert call == Invocation("data", ("mine",), "towpath train 'my recipe.yaml'")


def test_a_command_without_data_has_a_call_too():
    assert Invocation.of(argparse.Namespace(argv=["demo"])) == Invocation(command="towpath demo")


def test_seeds_are_whole_numbers():
    assert chosen_seeds(argparse.Namespace(seeds="0, 1,2,")) == [0, 1, 2]
    with pytest.raises(UsageError, match="--seeds is '0,x'; expected whole numbers"):
        chosen_seeds(argparse.Namespace(seeds="0,x"))


def test_a_package_is_named_by_a_word(capsys):
    said = refused(["train", "quick", "--allow-import", "../mine"], capsys)
    assert "expected the name of a package" in said
