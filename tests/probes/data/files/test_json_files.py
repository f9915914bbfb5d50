"""JSON Lines, whole and broken, and what is told from them."""

import gzip
import json

import pytest

from ftlab.probes.data.files import json_files
from ftlab.probes.data.files.entries import Broken
from ftlab.probes.data.files.json_files import is_array, lines_of
from ftlab.records.errors import BadValueError


@pytest.fixture
def written(tmp_path):
    def write(content, name="rows.jsonl"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def broken(entries):
    return [(entry.at, entry.value) for entry in entries if type(entry.value) is Broken]


def test_lines_are_numbered_as_an_editor_does(written):
    path = written('\ufeff{"text": "a"}\r\n\n  \n{"text": "b"}')
    assert [tuple(entry) for entry in lines_of(path)] == [
        (1, {"text": "a"}),
        (4, {"text": "b"}),
    ]


@pytest.mark.parametrize(
    ("line", "char", "says"),
    [
        (b'{"text": "a"', 12, "no JSON: Expecting ',' delimiter"),
        (b'{"text": "a"} {}', 13, "no JSON: more than one value"),
        (b'{"text": "\xff"}', 10, "no UTF-8: byte 0xff"),
        (b"[" * 100_000, -1, "values nested too deeply"),
        (b"1" * 5000, -1, "no row: Exceeds the limit"),
        (b'{"text": "a\tb"}', 11, "no JSON: Invalid control character at"),
    ],
)
def test_a_line_that_is_no_row_is_named_and_the_others_are_read(
    written, line, char, says
):
    good = b'{"text": "good"}'
    entries = list(lines_of(written(b"\n".join((good, line, good)))))
    ((at, value),) = broken(entries)
    assert (at, value.char, value.says[: len(says)]) == (2, char, says)
    assert len(entries) == 3
    assert entries[2].value == {"text": "good"}


def test_a_line_that_is_too_long_is_passed_over(written, monkeypatch):
    monkeypatch.setattr(json_files, "LARGEST", 1000)
    monkeypatch.setattr(json_files, "CHUNK", 100)
    long = json.dumps({"text": "x" * 5000})
    entries = list(lines_of(written(f'{long}\n{{"text": "a"}}\n{long}')))
    found = broken(entries)
    assert [at for at, _ in found] == [1, 3]
    assert found[0][1].says == "a line of 5,013 bytes; up to 1,000 are read"
    assert found[1][1].says.startswith("a line of 5,012 bytes")
    assert entries[1] == (2, {"text": "a"})


def test_packed_lines_are_read_and_a_cut_is_named(tmp_path):
    path = tmp_path / "rows.jsonl.gz"
    packed = gzip.compress(b'{"text": "a"}\n' * 100_000)
    path.write_bytes(packed)
    assert sum(1 for _ in lines_of(str(path))) == 100_000
    path.write_bytes(packed[: len(packed) // 2])
    *_, last = lines_of(str(path))
    assert "cannot be read from here on" in last.value.says


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_another_encoding_is_said(written, encoding):
    content = '\ufeff{"text": "a"}' if encoding == "utf-16-le" else '{"text": "a"}'
    path = written(content.encode(encoding))
    with pytest.raises(BadValueError, match=r"is UTF-16; .* encoding='utf-16'"):
        is_array(path)


@pytest.mark.parametrize(
    ("text", "array"),
    [
        ('[{"a": 1}]', True),
        ('\n [{"a": 1},\n{"a": 2}]\n\n', True),
        ('[{"a": 1}]\n \n', True),
        ('[{"a": 1}]\n[{"a": 2}]\n', False),
        ('[{"a": 1}]\n{"a": 2}\n', False),
        ('[{"a": 1}\n{"a": 2}]\n', True),
    ],
)
def test_lines_that_are_arrays_are_told_from_one_array(written, text, array):
    assert is_array(written(text)) is array


@pytest.mark.parametrize(
    "line",
    [
        '{"a": NaN, "b": 1e999}',
        '{"a": 123456789012345678901234567890, "b": [0.1, -0, 1E5]}',
        '{"text": "\\ud800"}',
        '{"a": 1, "a": 2}',
        '{"a": ' + "9" * 5000 + "}",
        "[" * 3000,
        '{"a": nul}',
        '{"a": 1} {}',
    ],
)
def test_a_line_is_the_same_without_msgspec(written, monkeypatch, line):
    pytest.importorskip("msgspec")
    path = written(f"{line}\n")
    fast = [repr(entry.value) for entry in lines_of(path)]
    monkeypatch.setattr(json_files, "_decode", None)
    assert fast == [repr(entry.value) for entry in lines_of(path)]
