import pytest

from towpath.data.noise.damage import damage_of, mostly_wrong


@pytest.mark.parametrize(
    ("info", "damage"),
    [
        ({}, 0.0),
        ({"mislabelled": False}, 0.0),
        ({"mislabelled": True}, 1.0),  # as 0.1 recorded it
        ({"mislabelled": True, "wrong": 0.2, "noise": "query"}, 1.0),
        ({"mislabelled": True, "wrong": 0.2, "noise": "flip"}, 1.0),
        ({"mislabelled": True, "wrong": 0.2, "noise": "images"}, 0.2),
        ({"mislabelled": True, "wrong": 0.7, "noise": "classes"}, 0.7),
        ({"mislabelled": False, "wrong": 0.0, "noise": "classes"}, 0.0),
        ({"mislabelled": False, "off_target": True}, 1.0),
        ({"mislabelled": False, "off_target": False}, 0.0),
        ({"mislabelled": True, "wrong": "much", "noise": "images"}, 1.0),
        ({"mislabelled": True, "wrong": 0.1, "noise": "of a later version"}, 1.0),
    ],
)
def test_a_task_is_as_wrong_as_it_records(info, damage):
    assert damage_of(info) == damage
    assert mostly_wrong(info) == (damage >= 0.5)
