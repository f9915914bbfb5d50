"""A scan from beginning to end."""

import signal

import pytest

from ftlab.probes.data.files.sources import sources_of
from ftlab.session import data_scanning
from ftlab.session.data_scanning import scan_sources
from ftlab.session.data_verdict import Asked
from tests.session.test_data import TOKENIZER, chat


def scanned(rows, **settings):
    return scan_sources(Asked("rows", sources_of(rows), **settings)).scan


def test_progress_counts_every_row_once(monkeypatch):
    monkeypatch.setattr(data_scanning, "TICK", 7)
    read, compared = [], []
    given = Asked("rows", sources_of(chat()))
    scan_sources(given, read.append, compared.append)
    assert (sum(read), sum(compared)) == (40, 40)
    assert len(read) == 6


def interrupting(before):
    """Raise the signal of Ctrl-C, and go on with what was asked for."""

    def interrupted(*given):
        signal.raise_signal(signal.SIGINT)
        return before(*given)

    return interrupted


def test_an_interrupt_of_the_comparing_leaves_what_was_found(monkeypatch):
    monkeypatch.setattr(
        data_scanning, "near_pass", interrupting(data_scanning.near_pass)
    )
    scan = scanned(chat() + chat(1))
    assert (scan.complete, scan.stopped, scan.near) == (True, True, None)
    assert [issue.name for issue in scan.issues] == ["duplicate-row"]
    assert (
        scan.not_checked[0] == "rows that are almost the same: stopped before the end"
    )


def test_an_interrupt_between_two_comparisons_says_what_was_left_out(monkeypatch):
    monkeypatch.setattr(
        data_scanning, "report_repeated", interrupting(data_scanning.report_repeated)
    )
    scan = scanned(chat() + chat(1))
    assert (scan.complete, scan.stopped, scan.near) == (True, True, None)
    assert [issue.name for issue in scan.issues] == ["duplicate-row"]
    assert [each.partition(":")[0] for each in scan.not_checked[:2]] == [
        "what all rows together tell",
        "rows that are almost the same",
    ]


class Waiting:
    """Rows that stop coming: Ctrl-C twice while the third one is waited for."""

    def __len__(self):
        return 9

    def __getitem__(self, at):
        if at == 2:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return chat()[at]


def test_a_second_interrupt_ends_the_waiting_for_a_row():
    scan = scanned(Waiting())
    assert (scan.rows, scan.complete) == (2, False)


def test_an_interrupt_of_the_evaluation_data_is_told_with_what_was_read():
    scan = scanned(chat(), evaluation=sources_of(Waiting()))
    assert (scan.rows, scan.complete, scan.stopped) == (40, True, True)
    (issue,) = scan.issues
    assert (issue.name, issue.rows) == ("leaked-evaluation-row", 2)
    assert scan.not_checked[0].endswith("stopped in the dataset behind 2 rows")


def test_an_interrupt_before_the_first_row_is_passed_on():
    class Empty(Waiting):
        def __getitem__(self, at):
            return super().__getitem__(at + 2)

    with pytest.raises(KeyboardInterrupt):
        scanned(Empty())


def test_evaluation_data_that_cannot_be_read_is_no_silence():
    scan = scanned(chat(), evaluation=sources_of([{"foo": 1}]))
    assert "1 of 1 rows of the dataset cannot be read" in scan.not_checked[0]


def test_files_and_the_thread_are_let_go(monkeypatch):
    made = []

    class Kept(data_scanning.Scan):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(data_scanning, "Scan", Kept)
    scanned(chat(), tokenizer=TOKENIZER)
    (scan,) = made
    assert scan.keys._spill._file.closed
    assert scan.texts._texts._file.closed
    assert scan.counting._thread._shutdown


def test_the_first_rows_alone_do_not_show_the_labels_of_all():
    rows = [{"text": f"Mail {at}", "label": "billing"} for at in range(200)]
    assert scanned(rows, most=100, total=200).issues == ()
    (issue,) = scanned(rows, most=300, total=200).issues
    assert issue.name == "one-label"
