"""`ftlab.memory_snapshot` and `ftlab.memory(file)`; the allocator is a stand-in."""

import os

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, FtlabWarning
from tests.laboratory.memory.cuda_snapshots import of_a_step, written


class Cuda:
    """Stands in for the allocator's history; these are torch's names and arguments."""

    def __init__(self, snapshot):
        self.snapshot, self.enabled, self.calls = snapshot, False, []

    def record(
        self, enabled="all", context="all", stacks="all", max_entries=2**63, device=None
    ):
        self.calls.append((enabled, stacks, max_entries))
        self.enabled = enabled is not None

    def tell(self, **_):
        if isinstance(self.snapshot, Exception):
            raise self.snapshot
        assert self.enabled  # switching it off forgets the history
        return self.snapshot


@pytest.fixture
def cuda(monkeypatch):
    it = Cuda(of_a_step().snapshot())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        torch._C, "_cuda_isHistoryEnabled", lambda: it.enabled, raising=False
    )
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", it.record)
    monkeypatch.setattr(torch.cuda.memory, "_snapshot", it.tell)
    return it


def test_a_block_is_recorded_written_and_shown(cuda, tmp_path):
    file = tmp_path / "cuda.pickle"
    with ftlab.memory_snapshot(file) as recorded:
        assert cuda.enabled
        assert str(recorded) == "CUDA memory: nothing recorded"
    assert cuda.calls == [("all", "python", 100_000), (None, "all", 2**63)]
    assert "out of memory at event 14" in str(recorded)
    assert str(ftlab.memory(file)) == str(recorded) == str(ftlab.memory(str(file)))


def test_running_out_of_memory_is_written_and_passes_through(cuda, tmp_path):
    file, error = tmp_path / "cuda.pickle", torch.OutOfMemoryError("CUDA")
    with pytest.raises(torch.OutOfMemoryError) as caught, ftlab.memory_snapshot(file):
        raise error
    assert caught.value is error
    assert error.__notes__ == [f"ftlab.memory({str(file)!r}) shows it"]
    assert not cuda.enabled
    assert len(ftlab.memory(file).table()) == 3


@pytest.mark.parametrize("failed", [OSError(28, "No space left"), RuntimeError("gone")])
def test_what_cannot_be_written_hides_no_error_of_the_block(cuda, tmp_path, failed):
    cuda.snapshot, file = failed, tmp_path / "cuda.pickle"
    with pytest.raises(KeyError, match="mine") as caught, ftlab.memory_snapshot(file):
        raise KeyError("mine")
    (note,) = caught.value.__notes__
    assert "was not recorded" in note
    assert str(failed) in note
    assert not cuda.enabled


def test_what_cannot_be_written_is_one_warning(cuda, tmp_path):
    cuda.snapshot = OSError(28, "No space left")
    with (
        pytest.warns(FtlabWarning, match="No space left") as warned,
        ftlab.memory_snapshot(tmp_path / "cuda.pickle"),
    ):
        pass
    assert warned[0].filename == __file__
    assert not cuda.enabled


def test_interrupting_is_no_different(cuda, tmp_path):
    with (
        pytest.raises(KeyboardInterrupt),
        ftlab.memory_snapshot(tmp_path / "cuda.pickle") as recorded,
    ):
        raise KeyboardInterrupt
    assert len(recorded.table()) == 3
    assert not cuda.enabled


def test_nothing_happens_while_nothing_is_allocated(cuda, tmp_path):
    cuda.snapshot = {"segments": [], "device_traces": [[]]}
    with ftlab.memory_snapshot(tmp_path / "cuda.pickle") as recorded:
        pass
    assert str(recorded) == "CUDA memory: nothing recorded"


def test_another_recording_is_left_alone(cuda, tmp_path):
    cuda.enabled = True
    with (
        pytest.raises(BadValueError, match=r"end the other .*_history\(None\)"),
        ftlab.memory_snapshot(tmp_path / "cuda.pickle"),
    ):
        pass
    assert cuda.enabled
    assert not cuda.calls


def test_a_folder_that_is_not_there_is_said_before_anything_runs(cuda, tmp_path):
    with (
        pytest.raises(BadValueError, match="in no folder"),
        ftlab.memory_snapshot(tmp_path / "none" / "cuda.pickle"),
    ):
        pytest.fail("the block ran")
    assert not cuda.calls


def test_without_cuda_it_says_what_there_is_instead(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with (
        pytest.raises(BadValueError, match=r"no CUDA .*ftlab\.memory\(model, batch\)"),
        ftlab.memory_snapshot(tmp_path / "cuda.pickle"),
    ):
        pytest.fail("the block ran")


def test_torch_takes_these_arguments():
    import inspect

    known = inspect.signature(torch.cuda.memory._record_memory_history).parameters
    assert {"enabled", "stacks", "max_entries"} <= set(known)
    assert "filename" in inspect.signature(torch.cuda.memory._dump_snapshot).parameters


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")
def test_a_gpu_tells_the_same_peak_as_its_counters(tmp_path):
    torch.cuda.reset_peak_memory_stats()
    with ftlab.memory_snapshot(tmp_path / "cuda.pickle") as recorded:
        kept = [torch.ones(2**20, device="cuda") for _ in range(8)]
        del kept
    (device,) = [each for each in recorded.summary if each.device == 0]
    peak = torch.cuda.max_memory_allocated()  # of what is rounded up
    assert device.allocated.max() == pytest.approx(peak, rel=0.01)
    assert device.reserved[-1] == torch.cuda.memory_reserved()
    assert any("test_memory_snapshot.py" in line for line, *_ in device.at_peak)


def test_a_file_that_asks_for_code_is_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'ran'}",)

    file = written(tmp_path / "c.pickle", {"segments": [Evil()], "device_traces": []})
    with pytest.raises(BadValueError, match=r"asks for (posix|nt)\.system"):
        ftlab.memory(file)
    assert not (tmp_path / "ran").exists()


def test_a_folder_is_still_a_checkpoint(tmp_path):
    with pytest.raises(BadValueError, match="holds neither config"):
        ftlab.memory(tmp_path)
    with pytest.raises(BadValueError, match="holds neither config"):
        ftlab.memory(str(tmp_path / "gone"), (1, 8))
