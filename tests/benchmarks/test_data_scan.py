"""The scan is measured on rows without faults, beside the tokenizer alone."""

import json

import ftlab
from benchmarks.data_scan import conversations, growth, speeds
from benchmarks.tokens import tokenizer


def test_its_rows_are_healthy_and_the_same_each_time():
    rows = list(conversations(40))
    assert rows == list(conversations(40))
    assert ftlab.data(rows, tokenizer()).ok


def test_all_that_it_promises_is_measured(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, conversations(40))))
    found = speeds(tokenizer(), path, pairs=1)
    assert all(value > 0 for value in found.values())
    assert len(found) == 5
    assert growth(tokenizer(), 200) < 1e6
