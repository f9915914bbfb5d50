"""Rows of the evaluation data that the training holds as well."""

import json

import pytest

from ftlab.probes.data.across.evaluation import read_evaluation, report_leaks, unlike
from ftlab.probes.data.files.entries import Broken, Entry, Source, entries_of
from ftlab.probes.data.files.sources import sources_of
from ftlab.probes.data.files.stopping import Stop
from ftlab.probes.data.rows import row_keys
from ftlab.probes.data.scan import Looks, Scan
from ftlab.probes.data.text_store import BETWEEN, TextStore
from ftlab.probes.data.texts.special_tokens import SpecialTokens


def source(rows):
    return Source("", "row", lambda: (Entry(at, row) for at, row in enumerate(rows)))


def pair(at, answer="It is."):
    return {"prompt": f"What is the number behind {at}?", "completion": answer}


def scanned(sources, evaluation):
    """Scan training data and report what the evaluation holds of it."""
    scan = Scan(sources, Looks(SpecialTokens(None), prompts=True))
    for at, entry in entries_of(sources):
        scan.take(at, entry)
    report_leaks(scan, evaluation)
    return scan


@pytest.mark.parametrize("block", [1 << 16, 8])
def test_rows_and_prompts_of_the_evaluation_are_found(monkeypatch, block):
    monkeypatch.setattr(row_keys, "BLOCK", block)
    evaluation = read_evaluation(
        [source([pair(5), Broken("lost"), pair(7), pair(90), pair(5)])], TextStore()
    )
    sources = [source([pair(at) for at in range(40)] + [pair(7, "Other."), pair(5)])]
    scan = scanned(sources, evaluation)
    assert evaluation.held == {0, 2}
    assert evaluation.texts is not None
    assert len(evaluation.texts) == evaluation.count
    assert evaluation.texts[1] == BETWEEN * 2
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
    scan = scanned(sources, evaluation)
    assert set(scan.findings.rows) == {"unreadable-row"}
    assert not evaluation.held


def remarks(*sources, stop=None):
    return read_evaluation(list(sources), None, stop).remarks


def test_what_cannot_be_compared_is_remarked_with_the_reason():
    named = Source("held.jsonl", "line", lambda: iter([Entry(1, Broken("no JSON"))]))
    unknown = source([pair(1), {"foo": 1}, Broken("lost", rows=3)])
    whole = source([pair(2)])
    assert remarks(named, unknown, whole, source([])) == (
        "rows of the evaluation data: 1 of 1 rows of held.jsonl cannot be read: "
        "no JSON",
        "rows of the evaluation data: 4 of 5 rows of the dataset cannot be read: "
        "the row holds foo",
        "rows of the evaluation data: the dataset holds no rows",
    )


def test_rows_that_are_lost_are_counted():
    evaluation = read_evaluation([source([Broken("lost", rows=7), pair(1)])], None)
    assert (evaluation.count, evaluation.rows.rows.tolist()) == (8, [7])


def test_rows_of_ids_are_compared_by_their_ids():
    ids = [[at, at + 1, at + 2] for at in range(9)]
    evaluation = read_evaluation([source([{"input_ids": ids[4]}])], None)
    sources = [source([{"input_ids": each} for each in ids])]
    scan = scanned(sources, evaluation)
    assert scan.findings.rows["leaked-evaluation-row"].numbers().tolist() == [4]
    assert unlike(scan, evaluation) == ""
    texts = read_evaluation([source([pair(1)])], None)
    assert "1 are texts, and those trained on ids of tokens" in unlike(scan, texts)
    scan.formats.clear()
    scan.formats["text"] = 9
    assert "1 are ids of tokens" in unlike(scan, evaluation)


def test_what_was_read_until_somebody_stopped_it_is_known():
    stop = Stop()

    def rows():
        yield Entry(0, pair(1))
        stop.heard()
        yield Entry(1, pair(2))
        yield Entry(2, pair(3))

    evaluation = read_evaluation([Source("a", "row", rows)], None, stop)
    assert (evaluation.count, evaluation.stopped) == (2, True)
    assert evaluation.remarks == (
        "rows of the evaluation data: stopped in a behind 2 rows",
    )


def test_rows_of_files_are_told_by_their_lines(tmp_path):
    held = tmp_path / "held.jsonl"
    held.write_text("\n".join(["", *(json.dumps(pair(at)) for at in (7, 9)), ""]))
    evaluation = read_evaluation(sources_of(str(held)), None)
    sources = [source([pair(at) for at in range(12)] + [pair(9, "Other, and so on.")])]
    scan = scanned(sources, evaluation)
    says = {name: [s.says for s in each] for name, each in scan.findings.spots.items()}
    assert says == {
        "leaked-evaluation-row": [
            f"line {line} of the evaluation data" for line in (2, 3)
        ],
        "leaked-evaluation-prompt": ["the prompt of line 3 of the evaluation data"],
    }
    scan.close()
