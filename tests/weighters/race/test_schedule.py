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
    assert [Schedule(40, 4.0, 40).lasts(heats) for heats in range(3)] == [40, 20, 20]
    assert Schedule(0, 4.0, 1).lasts(1) == 1


def test_the_last_heat_of_a_run_is_the_first_or_a_later_one_that_ends_in_its_first_half():
    schedule = Schedule(40, 4.0, 40)
    assert schedule.last_end(79, 5) == 0, "too short for any"
    assert schedule.last_end(80, 5) == 80
    assert schedule.last_end(359, 5) == 80, "the second would end in the second half"
    assert schedule.last_end(360, 5) == 180
    assert schedule.last_end(400, 5) == 180
    assert schedule.last_end(700, 5) == 180, "the third would keep the judges out of training"
    assert schedule.last_end(2000, 5) == 660
    assert schedule.last_end(400, 7) == 161 + 21  # heats begin and end with windows
    assert schedule.last_end(82, 7) == 84  # with a last window of five
    assert schedule.last_end(440, 50) == 100, "in windows of fifty the second would end at 250"
    assert schedule.last_end(500, 50) == 250
    at_once = Schedule(0, 4.0, 10)  # later heats are counted from the end of the first
    assert [at_once.begins(heats) for heats in range(3)] == [0, 40, 160]
    assert at_once.last_end(32, 5) == 10
    assert at_once.last_end(60, 5) == 10
    assert at_once.last_end(90, 5) == 45
