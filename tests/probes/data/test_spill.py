"""Bytes come back, and a full disk is told."""

import random
import tempfile

import pytest

from ftlab.probes.data import spill as spill_module
from ftlab.probes.data.spill import Spill
from ftlab.records.errors import BadValueError


@pytest.mark.parametrize("block", [1, 50, 1 << 20])
def test_bytes_come_back_from_anywhere(monkeypatch, block):
    monkeypatch.setattr(spill_module, "BLOCK", block)
    numbers = random.Random(0)
    spill, expected = Spill(), b""
    for _ in range(200):
        content = numbers.randbytes(numbers.randrange(9))
        spill.append(content)
        expected += content
        start = numbers.randrange(len(expected) + 1)
        if numbers.random() < 0.3:
            assert spill.read(start, 20) == expected[start : start + 20]
    assert len(spill) == len(expected)
    assert spill.read(0, len(expected) + 9) == expected
    spill.close()


class Full:
    """A file on a disk without room."""

    def seek(self, *_):
        return 0

    def write(self, _):
        raise OSError(28, "No space left on device")

    def close(self):
        return None


def test_a_full_disk_is_told_with_what_helps():
    spill = Spill()
    spill._file = Full()
    spill.append(b"text")
    with pytest.raises(BadValueError, match=r"No space left.*near_duplicates=False"):
        spill.read(0, 4)
    spill.close()


def test_a_full_disk_is_told_once_and_closing_tells_nothing_more():
    spill = Spill()
    spill._file.close()
    spill._file = open("/dev/full", "wb")  # noqa: PTH123, SIM115  a disk without room
    spill.append(b"text" * 9)
    with pytest.raises(BadValueError, match=r"No space left.*--no-near"):
        spill._flush()
    spill.close()
    assert spill._file.closed


def test_a_folder_for_temporary_files_that_is_missing_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(BadValueError, match="Set TMPDIR to one with room"):
        Spill()
