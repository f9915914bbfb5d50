"""CUDA's memory over events: text, table and picture."""

import numpy as np
import pytest

from ftlab.laboratory.memory.cuda_snapshot import opened
from ftlab.records.memory import DeviceMemory
from ftlab.views.memory.cuda_snapshot import CudaMemoryView
from ftlab.views.view import png
from tests.laboratory.memory.cuda_snapshots import of_a_step, written

TEXT = """\
CUDA memory: 16 MiB of 20 MiB reserved at the peak on device 0, event 13 of 24
  10 MiB /home/me/train.py:12 step (10 blocks)
  4 MiB /home/me/train.py:3 <module> (1 block)
  2 MiB no user code, as in backward (1 block)
  out of memory at event 14: 8 GiB asked for, 3 MiB free on the device
  at the end 20 MiB reserved, 9 MiB free, in blocks of 4 MiB or less: what is larger \
does not fit (fragmentation)"""


@pytest.fixture
def view(tmp_path):
    return CudaMemoryView(
        opened(written(tmp_path / "c.pickle", of_a_step().snapshot()))
    )


def device(number, held=(), **more):
    bytes_ = np.array([0.0, 2.0**20, 0.0]), np.full(3, 2.0**21)
    given = {"failed": (), "free": ()} | more
    return DeviceMemory(number, *bytes_, held, **given)


def test_text_says_the_peak_its_lines_and_what_is_free_in_pieces(view):
    assert str(view) == TEXT


def test_table_has_a_row_for_each_line(view):
    table = view.table()
    assert list(table.columns) == ["device", "line", "bytes", "blocks"]
    assert table["bytes"].sum() == 16 * 2**20
    assert table["blocks"].tolist() == [10, 1, 1]


def test_picture_has_both_curves_the_peak_and_where_memory_ran_out(view):
    (axis,) = view.figure().axes
    reserved, allocated, peak, out = axis.lines
    assert max(reserved.get_ydata()) == 20
    assert max(allocated.get_ydata()) == 16
    assert peak.get_xydata().tolist() == [[13, 16]]
    assert (peak.get_marker(), out.get_marker()) == ("v", "X")
    assert out.get_xydata().tolist() == [[14, 16]]
    words = [each.get_text() for each in axis.get_legend().get_texts()]
    assert words == ["reserved", "allocated", "peak", "out of memory"]
    assert axis.get_title(loc="left") == TEXT


def test_long_recordings_keep_their_peaks_when_drawn():
    values = np.zeros(50_001)
    values[31_234] = 2.0**20
    long = DeviceMemory(0, values, np.full(50_001, 2.0**21), (), (), ())
    (axis,) = CudaMemoryView([long]).figure().axes
    _, allocated, *_ = axis.lines
    assert max(allocated.get_ydata()) == 1
    assert len(allocated.get_ydata()) <= 2000


def test_each_device_has_a_picture_and_a_text():
    view = CudaMemoryView([device(0), device(3)])
    assert len(view.figure().axes) == 2
    assert "on device 3, event 1 of 2" in str(view)
    assert "out of memory" not in str(view)


def test_nothing_recorded_is_said_until_there_is_something():
    devices = []
    view = CudaMemoryView(devices)
    assert str(view) == "CUDA memory: nothing recorded"
    assert png(view.figure())
    devices.append(device(0))
    assert str(view).startswith("CUDA memory: 1 MiB of 2 MiB reserved")


def test_many_lines_are_in_the_table():
    held = [(f"train.py:{n} step", 2.0, 1) for n in range(20)]
    view = CudaMemoryView([device(0, held)])
    assert "train.py:7 step" in str(view)
    assert "train.py:8 step" not in str(view)
    assert "and more lines, in .table()" in str(view)
    assert len(view.table()) == 20


def test_names_of_others_are_no_formulas_and_no_commands():
    view = CudaMemoryView([device(0, [(r"$\frac{$\x1b[2J.py:1 f$", 2.0, 1)])])
    view._fixed[0].at_peak[0] = ("$\\frac{$\x1b[2J.py:1 f", 2.0, 1)
    assert png(view.figure())
    assert "\x1b" not in str(view)
    assert "\x1b" not in view.figure().axes[0].get_title(loc="left")
