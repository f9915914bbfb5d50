"""Whether all processes of a training were fed the same rows."""

import numpy as np
import pytest

from ftlab.records.facts import Facts
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord
from ftlab.runlog.rank_rows import steps_fed_alike
from ftlab.runlog.reader import open_log
from ftlab.runlog.seed_chain import sources_of
from ftlab.runlog.writer import LogWriter


def logged(path, *fed):
    """Log what each process was fed, a digest for each step; opens the first one's."""
    for rank, digests in enumerate(fed):
        writer = LogWriter.create(path, rank=rank, config={})
        writer.write(Facts(training={"world_size": len(fed)}))
        meta = {"micro_batch": 0, "row": 0}
        writer.write(NameRecord(7, "samples", "0", "sample", "", meta=meta))
        for step, digest in enumerate(digests):
            ids = np.array([7], np.int32)
            row = np.array([digest], np.float32)
            writer.write(Block("samples", step, ids, {"ids": row, "others": row}))
            writer.write(StepRecord(step, 0.0, loss=1.0))
        writer.commit()
        writer.close("finished")
    return open_log(path)


@pytest.mark.parametrize(
    ("fed", "steps"),
    [
        (([1, 2, 3], [1, 2, 3]), 3),
        (([1, 2, 3], [1, 2]), 2),
        (([1, 2, 3], [1, 2, 4]), 0),
        (([1, 2], [1, 2], [3, 4]), 0),
        (([1, 1, 1], [1, 1, 1]), 0),
        (([1, 2, 3],), 0),
    ],
)
def test_steps_with_the_same_rows_are_counted(tmp_path, fed, steps):
    assert steps_fed_alike(logged(tmp_path / "run", *fed)) == steps


def test_it_is_told_among_the_sources(tmp_path):
    run = logged(tmp_path / "run", [1, 2], [1, 2])
    (told,) = [each for each in sources_of(run) if each.name == "processes"]
    assert told.value == (
        "2; all were fed the same rows, in 2 steps: no sampler divides the dataset "
        "among them"
    )
