"""Block tables against a dumber computation: a dictionary by column, step and id."""

import itertools

import numpy as np
from hypothesis import given, settings, strategies as st

from ftlab.records.step import Block, StepRecord
from ftlab.runlog.reader import open_log
from ftlab.runlog.run import Run
from ftlab.runlog.segment import Limits
from ftlab.runlog.writer import LogWriter

values = st.floats(width=32, min_value=-1e3, max_value=1e3) | st.sampled_from(
    [float("nan"), float("inf")]
)


@st.composite
def blocks(draw):
    """Draw blocks of increasing steps, with gaps, several probes and changing rows."""
    step, found = 0, []
    for _ in range(draw(st.integers(1, 12))):
        step += draw(st.sampled_from([1, 1, 1, 30, 64, 5000]))
        free = {name: list(range(6)) for name in "abc"}
        for _ in range(draw(st.integers(1, 3))):
            names = draw(st.sets(st.sampled_from("abc"), min_size=1, max_size=2))
            left = set.intersection(*(set(free[name]) for name in names))
            if not left:
                continue
            some = st.sampled_from(sorted(left))
            ids = draw(st.lists(some, min_size=1, max_size=4, unique=True))
            for name in names:
                free[name] = [row for row in free[name] if row not in ids]
            columns = {
                name: np.array(draw(st.tuples(*[values] * len(ids))), np.float32)
                for name in sorted(names)
            }
            found.append(Block("table", step, np.array(ids, np.int32), columns))
    return found


def plain(found):
    """Return every value by column, step and id; no probe measures one twice."""
    return {
        (name, block.step, int(row)): value
        for block in found
        for name, column in block.values.items()
        for row, value in zip(block.ids, column, strict=True)
    }


def check_raw(run, found):
    model = plain(found)
    for name in {name for name, _, _ in model}:
        matrix = run.matrix(name, "table")
        assert matrix.steps.tolist() == sorted({block.step for block in found})
        for (line, step), (row, name_id) in itertools.product(
            enumerate(matrix.steps), enumerate(matrix.ids)
        ):
            wanted = model.get((name, int(step), int(name_id)))
            assert matrix.known[line, row] == (wanted is not None)
            expected = np.nan if wanted is None else wanted
            np.testing.assert_equal(matrix.values[line, row], np.float32(expected))


def check_rolled(run, found, span):
    model = plain(found)
    for name in {name for name, _, _ in model}:
        matrix = run.matrix(name, "table", resolution=span)
        begins = sorted({block.step // span * span for block in found})
        assert matrix.steps.tolist() == begins
        for (line, begin), (row, name_id) in itertools.product(
            enumerate(matrix.steps), enumerate(matrix.ids)
        ):
            part = [
                value
                for (column, step, number), value in model.items()
                if (column, number) == (name, name_id) and step // span * span == begin
            ]
            finite = [float(value) for value in part if np.isfinite(value)]
            assert matrix.known[line, row] == bool(part)
            assert matrix.nonfinite[line, row] == len(part) - len(finite)
            if finite:
                assert matrix.low[line, row] == np.float32(min(finite))
                assert matrix.high[line, row] == np.float32(max(finite))
                np.testing.assert_allclose(
                    matrix.values[line, row], np.mean(finite), atol=1e-3
                )
            else:
                assert np.isnan(matrix.values[line, row])


@settings(deadline=None, max_examples=30)
@given(blocks())
def test_memory_agrees_with_the_plain_definition(found):
    run = Run()
    for block in found:
        run.append(block)
    check_raw(run, found)
    for span in (64, 4096):
        check_rolled(run, found, span)


@settings(deadline=None, max_examples=12)
@given(found=blocks(), ended=st.booleans(), budget=st.sampled_from([0, 2**20]))
def test_the_disk_agrees_with_the_plain_definition(
    tmp_path_factory, found, ended, budget
):
    path = tmp_path_factory.mktemp("log") / "run"
    limits = Limits(segment_bytes=3_000)
    writer = LogWriter.create(path, config={}, versions={}, limits=limits)
    for step, group in itertools.groupby(found, lambda block: block.step):
        for block in group:
            writer.write(block)
        writer.write(StepRecord(step, 0.0))
        writer.commit()
    if ended:
        writer.close("finished")
    run = open_log(path, budget=budget)
    check_raw(run, found)
    for span in (64, 4096):
        check_rolled(run, found, span)
