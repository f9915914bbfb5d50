import pytest

from ftlab.records.errors import DamageWarning
from ftlab.runlog.lines import LineFile, LineTail


def test_each_whole_line_is_read_once(tmp_path):
    file = LineFile(tmp_path / "a.jsonl")
    tail = LineTail(tmp_path / "a.jsonl")
    assert tail.read() == []
    for number in range(3):
        file.add({"number": number, "text": "a\nb\u2028c"})
        file.flush()
        assert tail.read() == [{"number": number, "text": "a\nb\u2028c"}]
    assert tail.read() == []
    file.release()
    file.release()


def test_a_line_that_is_no_json_is_left_out_and_named(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"schema": 1}\n{"a": 1}\n\x00\x00\xff\n{"a": 2}\n')
    with pytest.warns(DamageWarning, match=r"a.jsonl' is damaged"):
        assert LineTail(path).read() == [{"a": 1}, {"a": 2}]


def test_a_damaged_header_costs_nothing_else(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"schema": nil}\n{"a": 1}\n')
    with pytest.warns(DamageWarning, match=r"a.jsonl' is damaged"):
        assert LineTail(path).read() == [{"a": 1}]
