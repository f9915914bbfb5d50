"""Two files of one adapter: which is newer, and are they the same."""

import os

import pytest
import torch

from ftlab.faults.builders.saved import taught
from ftlab.faults.builders.tiny import lora
from ftlab.probes.files.adapter_file_twins import is_outdated
from ftlab.probes.files.adapter_folder import OUTDATED, PICKLED, WEIGHTS, adapter_folder


def twice(folder, train=True, cast=None):
    model = lora()
    model.save_pretrained(folder)
    if train:
        taught(model, steps=2)
    if cast is not None:
        model.to(cast)
    model.save_pretrained(folder, safe_serialization=False)
    set_age(folder / WEIGHTS, 100)
    return folder / WEIGHTS, folder / PICKLED


def set_age(file, seconds):
    early = file.stat().st_mtime - seconds
    os.utime(file, (early, early))


def test_a_newer_pickle_of_other_values_is_told(tmp_path):
    assert is_outdated(*twice(tmp_path))
    assert OUTDATED in adapter_folder(tmp_path).problems


def test_the_same_values_are_one_version(tmp_path):
    assert not is_outdated(*twice(tmp_path, train=False))
    assert adapter_folder(tmp_path).problems == ()


def test_a_pickle_that_is_older_is_left_behind_rightly(tmp_path):
    tensors, pickled = twice(tmp_path)
    set_age(pickled, 200)
    assert not is_outdated(tensors, pickled)


def test_another_dtype_is_no_version(tmp_path):
    assert not is_outdated(*twice(tmp_path, cast=torch.float16))


@pytest.mark.parametrize("broken", [WEIGHTS, PICKLED])
def test_what_cannot_be_read_is_not_judged(tmp_path, broken):
    files = twice(tmp_path)
    (tmp_path / broken).write_bytes(b"{}")
    set_age(tmp_path / WEIGHTS, 100)
    assert not is_outdated(*files)


def test_one_file_is_no_pair(tmp_path):
    tensors, pickled = twice(tmp_path)
    pickled.unlink()
    assert not is_outdated(tensors, pickled)
