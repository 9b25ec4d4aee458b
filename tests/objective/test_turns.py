"""Threads that evaluate take turns; workers of the one whose turn it is need not wait."""

import threading

from towpath.objective.turns import become_helper, evaluating


def tries(ready: threading.Event, helper: bool) -> threading.Thread:
    """A thread that sets the event once it is its turn."""

    def run() -> None:
        if helper:
            become_helper()
        with evaluating():
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_another_thread_waits_until_the_turn_ends():
    ready = threading.Event()
    with evaluating():
        thread = tries(ready, helper=False)
        assert not ready.wait(0.2)
    assert ready.wait(10)
    thread.join()


def test_a_worker_of_the_thread_does_not_wait():
    ready = threading.Event()
    with evaluating():
        thread = tries(ready, helper=True)
        assert ready.wait(10)
    thread.join()


def test_a_thread_may_take_its_own_turn_twice():
    with evaluating(), evaluating():
        pass
