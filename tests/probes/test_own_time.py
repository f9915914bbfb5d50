"""The time that ftlab takes of the threads that train."""

import threading
import time

from ftlab.probes.own_time import OwnTime

NAP = 0.02


def test_what_runs_within_itself_counts_once():
    own = OwnTime()
    with own:
        time.sleep(NAP)
        with own:
            time.sleep(NAP)
    assert 2 * NAP <= own.seconds < 3 * NAP
    before = own.seconds
    time.sleep(NAP)
    assert own.seconds == before


def test_an_error_ends_it_and_another_thread_has_its_own():
    own = OwnTime()
    try:
        with own:
            raise ValueError
    except ValueError:
        pass
    ended = own.seconds
    others = []

    def work():
        with own:
            time.sleep(NAP)
        others.append(own.seconds)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert others[0] >= NAP
    assert own.seconds == ended
