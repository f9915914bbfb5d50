"""The order of operations within bounds."""

from ftlab.probes.stepping.ledger import CAPACITY, Ledger


def test_entries_keep_their_order_and_their_detail():
    ledger = Ledger()
    ledger.add("forward", "model", mode="train")
    ledger.add("backward", "loss", micro=0)["detail"]["late"] = 1.0
    first, second = ledger.records(step=3)
    assert (first.step, first.index, first.op) == (3, 0, "forward")
    assert (second.index, second.detail) == (1, {"micro": 0, "late": 1.0})


def test_what_repeats_is_counted_although_it_was_completed():
    ledger = Ledger()
    for _ in range(3):
        ledger.add("clip", "norm", max_norm=1.0)["detail"]["total_norm"] = 2.0
    (entry,) = ledger.records(0)
    assert entry.detail == {"max_norm": 1.0, "total_norm": 2.0, "times": 3}


def test_a_ledger_is_bounded_and_counts_the_rest():
    ledger = Ledger()
    for micro in range(CAPACITY + 5):
        ledger.add("backward", "loss", micro=micro)
    assert len(ledger.records(0)) == CAPACITY
    assert ledger.dropped == 5
