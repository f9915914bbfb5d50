"""Which trace of a run is meant, and what is said where there is none."""

from dataclasses import replace

import pytest

import ftlab
from ftlab.records.errors import BadValueError, RunFolderError
from ftlab.runlog.traces import write_trace
from ftlab.runlog.writer import LogWriter
from tests.views.traced import small_trace, update_trace


@pytest.fixture
def folder(tmp_path):
    LogWriter.create(tmp_path / "run", config={}).close("finished")
    return tmp_path / "run"


@pytest.fixture
def run(folder):
    for trace in (small_trace(), update_trace(), small_trace()):
        write_trace(folder / "rank-00000", trace)
    return ftlab.open_run(folder)


def test_without_a_number_it_is_the_first_anomaly(run):
    assert run.replay().trace.step == 9
    assert run.replay(173).trace.step == 173


def test_several_anomalies_of_a_step_have_numbers(run, folder):
    other = replace(small_trace(), headline="another one")
    write_trace(folder / "rank-00000", other)
    assert run.replay(173, number=3).trace.headline == "another one"
    with pytest.raises(BadValueError, match="step 173 has traces 1 to 3"):
        run.replay(173, number=4)


def test_a_step_without_one_names_those_that_have(run):
    with pytest.raises(BadValueError, match=r"steps 9, 173 \(2 of them\)"):
        run.replay(7)


def test_a_run_without_any_says_how_they_come_about(folder):
    with pytest.raises(BadValueError, match=r"(?s)no trace.*ftlab.debug stops"):
        ftlab.open_run(folder).replay()


def test_a_damaged_one_is_named(run, folder):
    (folder / "rank-00000" / "anomalies" / "step-000009" / "ops.arrow").write_bytes(b"")
    with pytest.raises(RunFolderError, match="step-000009"):
        run.replay(9)
    assert run.replay(173).culprit is not None
