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
    assert tail.header == {"schema": 1, "file": "a"}
    file.release()
    file.release()


def test_a_line_that_is_no_json_ends_the_reading(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"schema": 1}\n{"a": 1}\n\x00\x00\xff\n{"a": 2}\n')
    assert LineTail(path).read() == [{"a": 1}]
