"""A scan from beginning to end."""

from ftlab.probes.data.sources import sources_of
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


def test_an_interrupt_of_the_comparing_leaves_what_was_found(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(data_scanning, "near_pass", interrupted)
    scan = scanned(chat() + chat(1))
    assert scan.complete
    assert [issue.name for issue in scan.issues] == ["duplicate-row"]
    assert (
        scan.not_checked[0] == "rows that are almost the same: stopped before the end"
    )


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
    assert scan._thread._shutdown
