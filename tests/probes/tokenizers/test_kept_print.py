"""A fingerprint beside a checkpoint: whole or not at all, and never in the way."""

import os

import pytest

from ftlab.probes.tokenizers.kept_print import keep_beside, read_kept, trained_with
from ftlab.records.fingerprint import TRAINED_WITH, Fingerprint, part_of


def print_of(legacy: bool) -> Fingerprint:
    return Fingerprint("Own", "python", {"switches": part_of({"legacy": legacy})})


def test_what_is_kept_is_read_again(tmp_path):
    assert keep_beside(tmp_path, print_of(True))
    assert trained_with(tmp_path) == print_of(True)
    assert read_kept(tmp_path / TRAINED_WITH) == print_of(True)
    assert [each.name for each in tmp_path.iterdir()] == [TRAINED_WITH]


def test_a_later_one_takes_its_place_and_the_same_one_is_not_written_again(tmp_path):
    keep_beside(tmp_path, print_of(True))
    os.utime(tmp_path / TRAINED_WITH, (7, 7))
    assert keep_beside(tmp_path, print_of(True))
    assert (tmp_path / TRAINED_WITH).stat().st_mtime == 7
    assert keep_beside(tmp_path, print_of(False))
    assert trained_with(tmp_path) == print_of(False)


@pytest.mark.parametrize("content", ["mine", "{}", ""])
def test_a_file_that_is_somebody_elses_stays_as_it_is(tmp_path, content):
    (tmp_path / TRAINED_WITH).write_text(content)
    assert not keep_beside(tmp_path, print_of(True))
    assert (tmp_path / TRAINED_WITH).read_text() == content
    assert trained_with(tmp_path) is None


def test_a_link_that_leads_nowhere_stays_too(tmp_path):
    (tmp_path / TRAINED_WITH).symlink_to(tmp_path / "gone")
    assert not keep_beside(tmp_path, print_of(True))
    assert not (tmp_path / "gone").exists()


def test_where_nothing_can_be_written_nothing_is_left(tmp_path):
    assert not keep_beside(tmp_path / "gone", print_of(True))
    (tmp_path / f"{TRAINED_WITH}.{os.getpid()}.part").mkdir()
    assert not keep_beside(tmp_path, print_of(True))
    assert trained_with(tmp_path) is None


def test_text_that_no_encoding_takes_is_kept(tmp_path):
    odd = Fingerprint("Own", "python", {"switches": part_of({"sign": "\ud800"})})
    assert keep_beside(tmp_path, odd)
    assert trained_with(tmp_path) == odd
