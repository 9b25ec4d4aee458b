"""What a rollout looks at: whole query sets, or a part of them."""

import torch

import towpath as tp
from towpath.distributed.ranks import ALONE
from towpath.flat import Layout
from towpath.objective import Evaluation, Rows
from towpath.weighters.tow.part import FirstView, PartView, WholeView, left_out_of, put_aside

WINDOW = [["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"], ["j", "k", "l"]]
PARTS = [[task.upper() for task in batch] for batch in WINDOW]
VIEW = PartView(WINDOW, PARTS, 0.5, range(1, 2))


def answer(losses, watched=None):
    losses = torch.tensor(losses)
    seen = None if watched is None else torch.tensor(watched)
    return Evaluation(
        losses, losses == losses, Rows(losses[:, None], 3, ALONE), None, None, watched=seen
    )


def test_a_whole_view_always_trains_and_sees_everything():
    view = WholeView(WINDOW)
    assert view.trains(derivatives=True)
    assert view.trains(derivatives=False)
    for t in range(4):
        look = view.look(t, derivatives=True, counts=True)
        assert (look.tasks, look.watched, look.in_part) == (WINDOW[t], None, False)
    assert view.counted(1, answer([1.0, 2.0, 3.0]), trains=True).tolist() == [1.0, 2.0, 3.0]
    assert view.share == 1


def test_planning_on_a_part_sees_parts_but_for_the_first_mini_batch_and_those_it_coasts_over():
    looks = [VIEW.look(t, derivatives=True, counts=True) for t in range(4)]
    assert looks[1] is None
    seen = [(look.tasks, look.in_part) for look in looks if look is not None]
    assert seen == [(WINDOW[0], False), (PARTS[2], True), (PARTS[3], True)]
    assert not VIEW.trains(derivatives=True)
    assert [look.work(2) for look in looks if look][1].parts == 3


def test_training_sees_whole_tasks_and_watches_every_other_part_that_counts():
    looks = [VIEW.look(t, derivatives=False, counts=True) for t in range(4)]
    assert [look.tasks for look in looks if look] == WINDOW
    watched = [look.watched for look in looks if look]
    assert watched == [None, None, ["G", None, "I"], [None, "K", None]]
    uncounted = VIEW.look(2, derivatives=False, counts=False)
    assert uncounted is not None
    assert uncounted.watched is None


def test_the_losses_of_watched_parts_stand_for_all():
    here = answer([1.0, 2.0, 3.0], watched=[5.0, 0.0, 7.0])
    assert VIEW.counted(2, here, trains=True).tolist() == [7.5, 10.5]
    assert VIEW.counted(3, answer([1.0, 2.0, 3.0]), trains=False).tolist() == [6.0]
    assert VIEW.counted(0, here, trains=True).tolist() == [1.0, 2.0, 3.0]
    assert VIEW.counted(1, here, trains=True).tolist() == [1.0, 2.0, 3.0]
    assert VIEW.counted(1, here, trains=False).tolist() == []


def test_with_momentum_a_quarter_is_left_out():
    assert [left_out_of(T, 0.9) for T in (1, 4, 5, 9, 20)] == [0, 0, 1, 2, 4]
    assert left_out_of(20, 0.4) == 0


def test_a_view_of_the_first_mini_batch_coasts_over_the_others_until_training():
    view = FirstView(WINDOW)
    assert (view.share, view.in_part, view.coasts) == (1, False, range(1, 4))
    assert view.trains(derivatives=False)
    assert not view.trains(derivatives=True)
    looks = [view.look(t, derivatives=True, counts=False) for t in range(4)]
    assert [None if look is None else look.tasks for look in looks] == [WINDOW[0], None, None, None]
    trained = [view.look(t, derivatives=False, counts=False) for t in range(4)]
    assert [(look.tasks, look.watched) for look in trained if look] == [(b, None) for b in WINDOW]
    here = answer([1.0, 2.0, 3.0])
    assert view.counted(2, here, trains=True).tolist() == [1.0, 2.0, 3.0]
    assert view.counted(2, here, trains=False).tolist() == []
    assert view.seen(1) == WINDOW[1]


def test_the_first_parameters_are_put_aside_if_they_are_few_and_the_optimiser_normalises():
    params = {"a": torch.zeros(3), "b": torch.zeros(4), "c": torch.zeros(900), "d": torch.zeros(2)}
    layout = Layout.of(params)

    def aside(optimizer):
        return put_aside(layout, optimizer.init(params))

    assert aside(tp.Adam(lr=0.1)) == {"a", "b"}
    assert aside(tp.RMSprop(lr=0.1)) == {"a", "b"}
    assert aside(tp.SGD(lr=0.1, momentum=0.9)) == frozenset()
    large = {"c": params["c"], "a": params["a"]}
    assert put_aside(Layout.of(large), tp.Adam(lr=0.1).init(large)) == frozenset()
