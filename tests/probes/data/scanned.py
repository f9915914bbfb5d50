"""Rows of a list that a scan has gone through, as the tests of its parts need them."""

from ftlab.probes.data.files.entries import Entry, Source, entries_of
from ftlab.probes.data.scan import Looks, Scan
from ftlab.probes.data.texts.special_tokens import SpecialTokens
from ftlab.probes.data.token_counts import TokenCounter


def scanned(rows, tokenizer=None):
    """Give all rows to a scan."""
    sources = [
        Source("", "row", lambda: (Entry(at, row) for at, row in enumerate(rows)))
    ]
    counter = None if tokenizer is None else TokenCounter(tokenizer)
    scan = Scan(sources, Looks(SpecialTokens(tokenizer), counter))
    for at, entry in entries_of(sources):
        scan.take(at, entry)
    scan.finish()
    return scan


def rows_with(scan, name):
    """Return the rows that have a kind of fault."""
    known = scan.findings.rows.get(name)
    return [] if known is None else known.numbers().tolist()
