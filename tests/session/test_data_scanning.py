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


def mails(count=60):
    labels = ("billing", "refund")
    return [{"text": f"Mail {at}", "label": labels[at % 2]} for at in range(count)]


def test_rows_whose_labels_contradict_are_not_left_out():
    said = "The parcel that was sent on Monday has not come, and nobody answers."
    rows = [
        *mails(),
        *({"text": said, "label": label} for label in ("refund", "billing")),
    ]
    (issue,) = scanned(rows).issues
    assert (issue.name, issue.left_out) == ("labels-contradict", False)
    assert [spot.row for spot in issue.spots] == [61]


def test_the_first_rows_alone_do_not_show_the_labels_of_all():
    rows = sorted(mails(200), key=lambda row: row["label"])
    assert scanned(rows, most=100, total=200).issues == ()
    (issue,) = scanned(rows, most=300, total=200).issues
    assert issue.name == "sorted-by-label"
