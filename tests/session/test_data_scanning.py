"""A scan from beginning to end."""

from tokenizers import normalizers

from ftlab.probes.data.sources import sources_of
from ftlab.session import data_scanning
from ftlab.session.data_scanning import Asked, scan_sources
from tests.probes.tokens import vocabularies
from tests.session.test_data import TOKENIZER, asked, chat


def scanned(rows, **settings):
    return scan_sources(Asked("rows", sources_of(rows), **settings))[0]


def test_progress_counts_every_row_once(monkeypatch):
    monkeypatch.setattr(data_scanning, "TICK", 7)
    read, compared = [], []
    given = Asked("rows", sources_of(chat()))
    scan_sources(given, read.append, compared.append)
    assert (sum(read), sum(compared)) == (40, 40)
    assert len(read) == 6


def test_what_was_not_looked_for_is_said(monkeypatch):
    monkeypatch.setattr(data_scanning, "minhash", lambda: None)
    monkeypatch.setattr(data_scanning, "repairer", lambda: None)
    scan = scanned(chat())
    assert [each.partition(":")[0] for each in scan.not_checked] == [
        "tokens, special tokens and what is cut off",
        "rows of the evaluation data",
        "wrong encodings beyond U+FFFD",
        "rows that are almost the same",
    ]
    assert scan.near is None


def test_a_template_that_refuses_is_said():
    tokenizer = type(TOKENIZER)(tokenizer_object=TOKENIZER.backend_tokenizer)
    tokenizer.chat_template = "{{ raise_exception('never') }}"
    scan = scanned(chat(), tokenizer=tokenizer)
    assert scan.not_checked[0].startswith("the chat template's own tokens: ")
    assert not scan.lengths.template


def test_a_tokenizer_that_composes_letters_is_served_well():
    rows = asked(chat(), 0, "Le cafe\u0301 est ferme\u0301")
    composing = vocabularies.byte_level.__wrapped__()
    composing.backend_tokenizer.normalizer = normalizers.NFC()
    assert scanned(rows, tokenizer=composing).issues == ()
    names = [issue.name for issue in scanned(rows, tokenizer=TOKENIZER).issues]
    assert names == ["decomposed-letters"]


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
    assert scan.keys._file.closed
    assert scan.texts._texts.closed
    assert scan._thread._shutdown
