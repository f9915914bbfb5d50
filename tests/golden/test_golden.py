"""Released schemas stay readable, to the last value."""

from pathlib import Path

import pyarrow as pa
import pytest

from ftlab.runlog.reader import open_log
from ftlab.runlog.run import BUDGET
from tests.golden.describe import describe
from tests.golden.make_golden import in_memory, make

HERE = Path(__file__).parent


def text_of(folder, rank, budget=BUDGET):
    return describe(open_log(folder, rank=rank, budget=budget))


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("budget", [0, BUDGET])
def test_schema_1_is_read_to_the_last_value(rank, budget):
    golden = (HERE / f"schema-1-rank-{rank}.txt").read_text()
    assert text_of(HERE / "schema-1", rank, budget) == golden


def test_what_was_stored_is_what_was_recorded():
    stored = describe(open_log(HERE / "schema-1")).splitlines()
    recorded = describe(in_memory()).splitlines()
    assert stored[2:] == recorded[2:]


def test_todays_writer_still_writes_the_same_run(tmp_path):
    make(tmp_path / "schema-1")
    for rank in (0, 1):
        assert text_of(tmp_path / "schema-1", rank) == text_of(HERE / "schema-1", rank)


def test_the_torn_step_of_the_killed_rank_is_left_out():
    run = open_log(HERE / "schema-1", rank=1)
    assert run.last_step == 18
    assert run.matrix("grad_l2").steps[-1] == 18


def test_closed_segments_stay_compressed_arrow_files():
    for path in (HERE / "schema-1" / "rank-00000").glob("*.arrow"):
        with pa.memory_map(str(path)) as source:
            metadata = pa.ipc.open_file(source).schema.metadata
        assert metadata[b"ftlab.schema"] == b"1"
