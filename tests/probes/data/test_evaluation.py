"""Rows of the evaluation data that the training holds as well."""

import pytest

from ftlab.probes.data import row_keys
from ftlab.probes.data.entries import Broken, Entry, Source
from ftlab.probes.data.evaluation import read_evaluation, report_leaks
from ftlab.probes.data.scan import Looks, Scan, entries_of
from ftlab.probes.data.text_store import BETWEEN, TextStore
from ftlab.probes.data.token_marks import TokenMarks


def source(rows):
    return Source("", "row", lambda: (Entry(at, row) for at, row in enumerate(rows)))


def pair(at, answer="It is."):
    return {"prompt": f"What is the number behind {at}?", "completion": answer}


@pytest.mark.parametrize("block", [1 << 16, 8])
def test_rows_and_prompts_of_the_evaluation_are_found(monkeypatch, block):
    monkeypatch.setattr(row_keys, "BLOCK", block)
    evaluation = read_evaluation(
        [source([pair(5), Broken("lost"), pair(7), pair(90), pair(5)])], TextStore()
    )
    sources = [source([pair(at) for at in range(40)] + [pair(7, "Other."), pair(5)])]
    scan = Scan(sources, Looks(TokenMarks(None), prompts=True))
    for at, entry in entries_of(sources):
        scan.take(at, entry)
    report_leaks(scan, evaluation)
    assert evaluation.held == {0, 2}
    assert evaluation.texts is not None
    assert len(evaluation.texts) == evaluation.count
    assert evaluation.texts[1] == BETWEEN
    rows = scan.findings.rows
    assert rows["leaked-evaluation-row"].numbers().tolist() == [5, 7, 41]
    assert rows["leaked-evaluation-prompt"].numbers().tolist() == [40]
    spots = scan.findings.spots["leaked-evaluation-row"]
    assert [spot.says for spot in spots] == [
        f"row {at} of the evaluation data" for at in (0, 2, 0)
    ]
    assert evaluation.count == 5
    scan.close()


def test_nothing_in_common_is_nothing_found():
    evaluation = read_evaluation([source([pair(1), Broken("lost")])], None)
    sources = [source([pair(2), Broken("lost")])]
    scan = Scan(sources, Looks(TokenMarks(None), prompts=True))
    for at, entry in entries_of(sources):
        scan.take(at, entry)
    report_leaks(scan, evaluation)
    assert set(scan.findings.rows) == {"unreadable-row"}
    assert not evaluation.held
