import numpy as np

from ftlab.runlog.codec import finding_event
from ftlab.runlog.reader import open_log
from ftlab.runlog.segment import Limits
from ftlab.runlog.thinning import MARGIN
from ftlab.runlog.writer import LogWriter
from tests.runlog.sample import filled, write
from tests.runlog.test_run import finding

LIMITS = Limits(segment_bytes=10_000, disk_budget=20_000)


def size(path):
    files = (path / "rank-00000").glob("tensors-*.arrow")
    return sum(file.stat().st_size for file in files)


def test_raw_rows_stay_within_the_budget_and_roll_ups_stay_whole(tmp_path):
    writer = LogWriter.create(tmp_path / "run", config={}, versions={}, limits=LIMITS)
    write(writer, 0, 1500, every=10)
    writer.close("finished")
    assert size(tmp_path / "run") <= 20_000
    run, whole = open_log(tmp_path / "run"), filled(1500)
    assert len(run.steps) == 1500
    raw = run.matrix("grad_l2")
    assert 0 < raw.steps[0] < raw.steps[-1] == 1499
    for resolution in (64, 4096):
        found = run.matrix("grad_l2", resolution=resolution)
        wanted = whole.matrix("grad_l2", resolution=resolution)
        np.testing.assert_array_equal(found.steps, wanted.steps)
        np.testing.assert_array_equal(found.high, wanted.high)


def test_raw_rows_around_a_finding_stay(tmp_path):
    writer = LogWriter.create(tmp_path / "run", config={}, versions={}, limits=LIMITS)
    write(writer, 0, 300)
    writer.write(finding_event(finding(290, 295), 0.0))
    write(writer, 300, 2000, every=10)
    writer.close("finished")
    for budget in (0, 2**26):
        run = open_log(tmp_path / "run", budget=budget)
        steps = run.matrix("grad_l2").steps
        kept = np.arange(290 - MARGIN, 295 + MARGIN + 1)
        assert np.isin(kept, steps).all()
        assert 100 not in steps
        assert 600 not in steps
        np.testing.assert_array_equal(
            run.matrix("grad_l2", start=290, stop=295).values,
            filled(300).matrix("grad_l2", start=290, stop=295).values,
        )
