"""A folder with garbage in one file opens, or says which file is damaged."""

import shutil
import warnings
from pathlib import Path

import pytest

from ftlab.records.errors import FtlabError, FtlabWarning
from ftlab.runlog.reader import open_log

GARBAGE = {
    "empty": lambda _: b"",
    "half": lambda data: data[: len(data) // 2],
    "not text": lambda data: b"\xff\xfe\x00" + data,
    "a number": lambda _: b"3\n3\n",
    "null": lambda _: b"null\nnull\n",
    "no schema": lambda _: b'{"schema": null}\n{"bad": 1}\n',
    "odd schema": lambda _: b'{"schema": "x"}\n',
    "huge schema": lambda _: b'{"schema": 1e999}\n',
    "wrong line": lambda data: data + b'{"bad": 1}\n[]\n',
    "flipped": lambda data: bytes(
        byte ^ 0x55 if index % 50 == 7 else byte for index, byte in enumerate(data)
    ),
}


@pytest.fixture(scope="module")
def golden():
    return Path(__file__).parents[1] / "golden" / "schema-1"


def what_is_said(folder):
    """Open a folder; return its error or its warnings, which must be ftlab's own."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            open_log(folder)
        except FtlabError as error:
            return [str(error)]
    assert all(issubclass(each.category, FtlabWarning) for each in caught)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("damage", GARBAGE)
def test_every_damaged_file_is_named(tmp_path, golden, damage):
    files = [path.relative_to(golden) for path in golden.rglob("*") if path.is_file()]
    for number, file in enumerate(files):
        folder = tmp_path / str(number)
        shutil.copytree(golden, folder)
        path = folder / file
        path.write_bytes(GARBAGE[damage](path.read_bytes()))
        said = what_is_said(folder)
        assert all(str(folder / file) in words for words in said), said
        assert said or file.name != "run.json", "damage was read as if it were sound"
