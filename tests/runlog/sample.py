"""Records of a small run with known values, for the tests of the run log."""

from collections.abc import Iterator

import numpy as np

from ftlab.records.step import Block, LedgerEntry, StepRecord
from ftlab.runlog.run import Run
from ftlab.runlog.writer import LogWriter

IDS = np.arange(3, dtype=np.int32)


def block(step, ids=IDS, table="tensors", **columns):
    """Return a block whose columns are lists of numbers."""
    arrays = {name: np.array(entry, np.float32) for name, entry in columns.items()}
    return Block(table, step, np.array(ids, np.int32), arrays)


def grad(step):
    """Return the gradient norms of the sample run at ``step``."""
    return [step + 0.5, step % 7, -step]


def records(step) -> Iterator[object]:
    """Yield everything of one step, its own row last."""
    yield block(step, grad_l2=grad(step), has_grad=[1, 1, 1])
    if step % 16 == 0:
        yield block(step, weight_l2=[1, 2, step])
    yield LedgerEntry(step, 0, "backward", "loss", {"micro": 0})
    yield LedgerEntry(step, 1, "step", "optimizer 0", {"lr": [0.1]})
    yield StepRecord(
        step, time=100.0 + step, loss=2.0 / (1 + step), lr=(0.1,), values={"tokens": 8}
    )


def filled(steps, **options) -> Run:
    """Return the sample run in memory."""
    run = Run(**options)
    for step in range(steps):
        for record in records(step):
            run.append(record)
    return run


def write(writer: LogWriter, first, last, *, every=1) -> None:
    """Write the steps in ``[first, last)``, with a commit after ``every`` of them."""
    for step in range(first, last):
        for record in records(step):
            writer.write(record)
        if (step + 1) % every == 0 or step + 1 == last:
            writer.commit()


def logged(path, steps, *, ended="finished", every=1, **options) -> None:
    """Log the sample run; with ``ended=None`` as a killed process leaves it."""
    writer = LogWriter.create(path, config={}, versions={}, **options)
    write(writer, 0, steps, every=every)
    if ended is not None:
        writer.close(ended)


def check(run: Run, steps) -> None:
    """Check that ``run`` holds exactly the first ``steps`` steps of the sample run."""
    expected = filled(steps)
    np.testing.assert_array_equal(run.steps.step, np.arange(steps))
    for column in ("loss", "lr", "tokens", "skipped", "time", "grad_norm"):
        np.testing.assert_array_equal(run.steps[column], expected.steps[column])
        np.testing.assert_array_equal(
            run.steps.known(column), expected.steps.known(column)
        )
    for column in ("grad_l2", "weight_l2"):
        for resolution in (1, 64, 4096):
            found = run.matrix(column, resolution=resolution)
            wanted = expected.matrix(column, resolution=resolution)
            for part in ("steps", "ids", "known", "low", "high", "nonfinite"):
                np.testing.assert_array_equal(
                    getattr(found, part), getattr(wanted, part), err_msg=part
                )
            np.testing.assert_allclose(found.values, wanted.values, rtol=1e-6)
    last = steps - 1
    assert run.last_step == last
    assert run.ledger_of(last) == expected.ledger_of(last)
