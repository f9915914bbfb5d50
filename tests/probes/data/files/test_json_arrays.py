"""JSON arrays, whole and broken."""

import json

import pytest

from ftlab.probes.data.files.entries import Broken
from ftlab.probes.data.files.json_files import array_lines, array_of, is_array


@pytest.fixture
def written(tmp_path):
    def write(content, name="rows.json"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def broken(entries):
    return [(entry.at, entry.value) for entry in entries if type(entry.value) is Broken]


ROWS = [{"text": "a" * size, "n": size, "of": [1.5, None]} for size in range(40)]


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_is_read(written, indent):
    path = written(json.dumps([*ROWS, 17, 1234], indent=indent), "rows.json")
    assert is_array(path)
    entries = list(array_of(path))
    assert [entry.value for entry in entries] == [*ROWS, 17, 1234]
    assert [entry.at for entry in entries] == list(range(42))


def test_an_empty_array_has_no_rows(written):
    assert list(array_of(written(" [ ] ", "rows.json"))) == []


@pytest.mark.parametrize(
    ("text", "rows", "says"),
    [
        ('[{"a": 1}, {"a": ', 1, "no JSON: Expecting value"),
        ('[{"a": 1}, {"a": 2}', 2, "the file ends within the array"),
        ('[{"a": 1}, oops, {"a": 2}]', 1, "no JSON: Expecting value"),
    ],
)
def test_an_array_is_read_up_to_where_it_breaks(written, text, rows, says):
    entries = list(array_of(written(text, "rows.json")))
    ((at, value),) = broken(entries)
    assert (at, len(entries)) == (rows, rows + 1)
    assert says in value.says


def test_bytes_that_are_no_utf_8_are_named_and_the_rest_is_read(written):
    content = b'[{"text": "\xc3\xa9"}, {"text": "a\xffb"}, {"text": "c"}]'
    entries = list(array_of(written(content)))
    assert entries[0].value == {"text": "\u00e9"}
    ((at, value),) = broken(entries)
    assert (at, value.says, value.char) == (1, "no UTF-8: byte 0xff", 11)
    assert entries[2].value == {"text": "c"}


@pytest.mark.parametrize(
    ("behind", "says"),
    [
        ('{"a": 2}', "more follows behind the array's end"),
        ("]", "more follows behind the array's end"),
        (" \n", None),
    ],
)
def test_what_stands_behind_the_array_is_not_passed_over(written, behind, says):
    entries = list(array_of(written('[{"a": 1}]' + behind)))
    assert [value.says for _, value in broken(entries)] == ([says] if says else [])


def test_rows_without_a_comma_between_them_are_named(written):
    entries = list(array_of(written('[{"a": 1} {"a": 2}]')))
    assert entries[0].value == {"a": 1}
    assert entries[1].value.says == "no JSON: no comma; what is behind it is not read"
    assert len(entries) == 2


def test_elements_are_given_as_they_are_written(written):
    path = written('[{"a": 1e2, "a":\r\n  "\\ud800"} , oops]')
    first, second = array_lines(path)
    assert first == '{"a": 1e2, "a":   "\\ud800"}'
    assert type(second) is Broken
