"""The ledger cut at update attempts."""

from ftlab.rules.reading.cycles import cycles_of
from tests.runs import RunBuilder, loop_ops


def test_cuts_at_the_optimizers_attempts():
    builder = RunBuilder()
    for kind in ("after", "twice", "none", "before"):
        builder.step(ops=loop_ops(kind))
    cycles = cycles_of(builder.run, "scheduler 0", "optimizer 0")
    assert [cycle.step for cycle in cycles] == [0, 1, 2, 3]
    assert [len(cycle.early) for cycle in cycles] == [0, 1, 2, 0]
    assert [len(cycle.inside) for cycle in cycles] == [0, 0, 0, 1]
    assert [cycle.scheduled for cycle in cycles] == [0, 1, 2, 1]
    assert all(cycle.whole and cycle.backwards == 1 for cycle in cycles)


def test_other_optimizers_do_not_cut():
    builder = RunBuilder().step(ops=loop_ops("after"))
    assert cycles_of(builder.run, "scheduler 0", "optimizer 1") == []
