"""How names are dealt to the splits."""

import hashlib
import unicodedata
from collections import Counter

import pytest

from towpath.data.dealing import deal, in_order

NAMES = [f"task {i}" for i in range(100)]


def test_a_hundred_names_are_dealt_64_16_20_whatever_their_order():
    dealt = deal(NAMES)
    assert Counter(dealt.values()) == {"train": 64, "validation": 16, "test": 20}
    assert deal(reversed(NAMES)) == dealt


def test_the_order_is_that_of_the_digest_of_the_names():
    assert in_order(NAMES) == sorted(NAMES, key=lambda n: hashlib.sha256(n.encode()).digest())
    name = "Ä-Test"
    decomposed = unicodedata.normalize("NFD", name)
    assert deal([name, *NAMES])[name] == deal([decomposed, *NAMES])[decomposed]


def test_another_seed_deals_otherwise_and_the_same_one_alike():
    assert deal(NAMES, 1) == deal(NAMES, 1)
    assert deal(NAMES, 1) != deal(NAMES, 2) != deal(NAMES)


def test_one_more_name_moves_few_others():
    before, after = deal(NAMES), deal([*NAMES, "one more"])
    assert sum(before[name] != after[name] for name in NAMES) <= 3


@pytest.mark.parametrize("count", [3, 4, 5, 6, 7, 10])
def test_from_three_names_on_every_split_has_one(count):
    assert set(deal(NAMES[:count]).values()) == {"train", "validation", "test"}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_to_deal_are_all_for_training(count):
    assert deal(NAMES[:count]) == dict.fromkeys(in_order(NAMES[:count]), "train")
