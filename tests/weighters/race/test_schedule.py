"""When heats begin."""

from towpath.weighters.race.schedule import Schedule


def test_heats_begin_ever_more_rarely():
    assert [Schedule(40, 4.0, 50).begins(heats) for heats in range(4)] == [40, 160, 640, 2560]
    assert [Schedule(10, 1.5, 5).begins(heats) for heats in range(4)] == [10, 15, 22, 34]


def test_a_race_may_begin_with_a_heat():
    assert Schedule(0, 4.0, 50).begins(0) == 0


def test_the_first_decision_is_at_the_end_of_a_heat_that_began_with_a_window():
    assert Schedule(40, 4.0, 40).first_decision(5) == 80
    assert Schedule(40, 4.0, 40).first_decision(7) == 42 + 40
    assert Schedule(0, 4.0, 3).first_decision(5) == 3


def test_later_heats_are_shorter():
    assert [Schedule(40, 4.0, 40).lasts(heats) for heats in range(3)] == [40, 30, 30]
    assert Schedule(0, 4.0, 1).lasts(1) == 1
