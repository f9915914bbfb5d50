import os

import pytest

from ftlab.runlog.disk import replace, write_all


def test_a_failed_replacement_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch
):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_writes_everything_when_the_system_takes_it_in_parts(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:3]))
    with (tmp_path / "a").open("wb") as file:
        write_all(file.fileno(), b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_who_has_the_old_file_open_goes_on_reading_it(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        replace(path, b"new")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"
