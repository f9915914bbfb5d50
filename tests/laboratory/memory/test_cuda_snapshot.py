"""Snapshots of CUDA's allocator: what is read of them, and what is refused."""

import os
import pickle
import random
import site
import tracemalloc

import numpy as np
import pytest
from torch.cuda import _memory_viz

from ftlab.laboratory.memory import cuda_snapshot
from ftlab.laboratory.memory.cuda_snapshot import opened
from ftlab.records.errors import BadValueError
from tests.laboratory.memory.cuda_snapshots import Allocator, frame, of_a_step, written

MIB = 2**20


def test_torch_reads_the_same_snapshots():
    snapshot = of_a_step().snapshot()
    assert "total_reserved: 20.0MiB" in _memory_viz.segsum(snapshot)
    told = _memory_viz.trace(snapshot)
    assert "8.0GiB requested, 3.0MiB free in CUDA" in told
    assert told.count("free completed") == 5


def test_a_step_is_read(tmp_path):
    it = of_a_step()
    (found,) = opened(written(tmp_path / "c.pickle", it.snapshot()))
    assert found.device == 0
    assert found.allocated.tolist() == it.allocated
    assert found.reserved.tolist() == it.reserved
    assert found.at_peak == [
        ("/home/me/train.py:12 step", 10 * MIB, 10),
        ("/home/me/train.py:3 <module>", 4 * MIB, 1),
        ("no user code, as in backward", 2 * MIB, 1),
    ]
    assert found.failed == [(14, 2**33, 3 * MIB)]
    assert found.free == [MIB] * 5 + [4 * MIB]


def at_random(seed, device=0):
    draw, it = random.Random(seed), Allocator(device)
    for _ in range(300):
        free = [at for at, (b, _) in it.live.items() if b["state"] != "inactive"]
        free = [at for at in free if it.live[at][0]["state"] == "active_allocated"]
        if free and draw.random() < 0.45:
            it.free(draw.choice(free), completed=draw.random() < 0.9)
        else:
            it.alloc(draw.randrange(1, 8 * MIB), frame("train.py", draw.randrange(9)))
    return it


@pytest.mark.parametrize("entries", [None, 1, 2, 50, 400])
@pytest.mark.parametrize("seed", range(5))
def test_a_trace_that_begins_in_the_middle_has_the_same_end(tmp_path, seed, entries):
    it = at_random(seed)
    (found,) = opened(written(tmp_path / "c.pickle", it.snapshot(entries)))
    first = 0 if entries is None else -entries - 1
    assert found.allocated.tolist() == it.allocated[first:]
    assert found.reserved.tolist() == it.reserved[first:]
    sizes = [size for _, size, _ in found.at_peak]
    assert sum(sizes) == max(it.allocated[first:])
    assert sizes == sorted(sizes, reverse=True)


def test_what_was_there_before_is_told_so(tmp_path):
    it = Allocator()
    gone, kept = it.alloc(3 * MIB), it.alloc(MIB, frame("/home/me/load.py", 2, "load"))
    it.alloc(2 * MIB, frame("/home/me/train.py", 7))
    it.free(gone)
    (found,) = opened(written(tmp_path / "c.pickle", it.snapshot(3)))
    assert found.allocated.tolist() == [4 * MIB, 6 * MIB, 6 * MIB, 3 * MIB]
    assert found.at_peak == [
        ("there before the recording", 3 * MIB, 1),
        ("/home/me/train.py:7 step", 2 * MIB, 1),
        ("/home/me/load.py:2 load", MIB, 1),
    ]
    assert kept in it.live


def test_mapped_memory_is_reserved(tmp_path):
    it = Allocator()
    it.alloc(MIB)
    for event in it.trace:
        event["action"] = event["action"].replace("segment_alloc", "segment_map")
    it.segments[0]["total_size"] -= 8 * MIB
    it.tell("segment_unmap", 8 * MIB, addr=1)
    (found,) = opened(written(tmp_path / "c.pickle", it.snapshot()))
    assert found.reserved.tolist() == [0, 20 * MIB, 20 * MIB, 12 * MIB]


def test_each_device_is_told_and_an_unused_one_is_not(tmp_path):
    one, other = at_random(1), at_random(2, device=2)
    both, more = one.snapshot(), other.snapshot()
    both["device_traces"] += [[], more["device_traces"][2]]
    both["segments"] += more["segments"]
    found = opened(written(tmp_path / "c.pickle", both))
    assert [each.device for each in found] == [0, 2]
    assert found[0].allocated.tolist() == one.allocated
    assert found[1].allocated.tolist() == other.allocated


def test_segments_are_told_without_a_history(tmp_path):
    it = of_a_step()
    snapshot = it.snapshot() | {"device_traces": [[]]}
    (found,) = opened(written(tmp_path / "c.pickle", snapshot))
    assert found.allocated.tolist() == it.allocated[-1:]
    assert found.reserved.tolist() == [20 * MIB]


@pytest.mark.parametrize(
    "file",
    [
        site.getsitepackages()[0] + "/torch/nn/functional.py",
        os.__file__,
        "C:\\Python\\Lib\\site-packages\\torch\\nn\\functional.py",
        "/usr/lib/python3/dist-packages/transformers/trainer.py",
        "/usr/lib/python3.12/contextlib.py",
        "<frozen runpy>",
        "<eval_with_key>.3",
        "/tmp/torchinductor_me/ab/cab.py",
        "/pytorch/aten/src/ATen/Functions.cpp",
        "libtorch.so.2",
        "??",
        "",
    ],
)
def test_frames_of_libraries_are_passed_over(tmp_path, file):
    it = Allocator()
    it.alloc(MIB, frame(file), frame("/tmp/ipykernel_12/34.py", 2, "<module>"))
    (found,) = opened(written(tmp_path / "c.pickle", it.snapshot()))
    assert found.at_peak == [("<cell>:2 <module>", MIB, 1)]


def test_frames_of_what_is_installed_here_are_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_snapshot, "INSTALLED", ("/opt/odd/",))
    it = Allocator()
    it.alloc(MIB, frame("/opt/odd/torch/nn.py"), frame("/home/me/train.py", 5))
    (found,) = opened(written(tmp_path / "c.pickle", it.snapshot()))
    assert found.at_peak == [("/home/me/train.py:5 step", MIB, 1)]


class Evil:
    def __reduce__(self):
        return os.system, ("touch ran",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_file_that_asks_for_code_is_refused_and_nothing_runs(
    tmp_path, monkeypatch, protocol
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "evil.pickle"
    file.write_bytes(pickle.dumps(of_a_step().snapshot() | {"x": Evil()}, protocol))
    with pytest.raises(BadValueError, match=r"it asks for (posix|nt)\.system; numbers"):
        opened(file)
    assert not (tmp_path / "ran").exists()
    pickle.loads(pickle.dumps(Evil()))  # it does run where pickle reads it
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "EOFError"),
        (b"PK\x03\x04", "UnpicklingError"),
        (pickle.dumps([1, 2]), "TypeError"),
        (pickle.dumps({"segments": []}), "KeyError: 'device_traces'"),
        (pickle.dumps(np.zeros(3)), "it asks for numpy"),
        (pickle.dumps(of_a_step().snapshot())[:-200], "IndexError"),
    ],
    ids=["empty", "zip", "list", "half", "array", "cut"],
)
def test_what_is_no_snapshot_is_refused_with_the_reason(tmp_path, content, said):
    file = tmp_path / "c.pickle"
    file.write_bytes(content)
    with pytest.raises(BadValueError, match=rf"c\.pickle' is no .*{said}.*pass a"):
        opened(file)


def test_a_few_bytes_cannot_ask_for_much_memory(tmp_path):
    file = tmp_path / "c.pickle"
    file.write_bytes(b"\x80\x04Nr" + (2**24).to_bytes(4, "little") + b".")
    tracemalloc.start()
    with pytest.raises(BadValueError):
        opened(file)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2**24


def test_what_a_file_says_is_no_command_to_a_terminal(tmp_path):
    file = tmp_path / "c.pickle"
    file.write_bytes(b"ca\x1b[2J\nb\n.")
    with pytest.raises(BadValueError, match=r"asks for a\\x1b\[2J\.b"):
        opened(file)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(BadValueError, match="FileNotFoundError"):
        opened(tmp_path / "none.pickle")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, None, [], "x"])
def test_sizes_that_are_no_numbers_are_refused(tmp_path, value):
    it = of_a_step()
    it.trace[2]["size"] = value
    with pytest.raises(BadValueError, match="no snapshot"):
        opened(written(tmp_path / "c.pickle", it.snapshot()))


def test_damaged_files_are_read_or_refused(tmp_path):
    whole, draw = pickle.dumps(of_a_step().snapshot()), random.Random(0)
    file, refused = tmp_path / "c.pickle", 0
    for _ in range(600):
        content = bytearray(whole)
        for _ in range(draw.choice((1, 1, 3))):
            content[draw.randrange(len(content))] = draw.randrange(256)
        file.write_bytes(content)
        try:
            opened(file)
        except BadValueError:
            refused += 1
    assert refused > 100
