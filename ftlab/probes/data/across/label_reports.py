"""What labels and answers show once all rows are known."""

from collections import Counter

import numpy as np

from ftlab.probes.data.across.label_typos import by_spelling, misspelt
from ftlab.probes.data.across.labels import CLASSES, Labels, spelling
from ftlab.probes.data.across.reports import is_unfilled
from ftlab.probes.data.across.standing_answers import is_standing, of_one_topic, spread
from ftlab.probes.data.rows.row_keys import KeyFile, Rows
from ftlab.probes.data.scan import Scan
from ftlab.probes.data.text_store import sides_of

FEWEST = 50
"""Rows from which on one label for all of them is no chance."""

RARER = 0.3
"""Share of a label's usual spelling that another one has at most."""

COUNTED = 3
"""Classes from which on -1 is none of them, but no label."""

STRETCHES, EXPECTED = 0.1, 20
"""Stretches of one label, of those in rows by chance, and how many these are."""

SAME, SAME_SHARE, DIFFERENT = 10, 0.01, 0.5
"""Rows with one long answer: how many, of all, and how many of them ask otherwise."""

SURE = 0.9
"""Share of the rows whose text begins with their label in brackets."""

IN_CLASSES, OFTEN = 0.9, 4
"""Share of the rows above which the same answers again and again are classes, and how
often each of these is given on average."""


def report_labels(scan: Scan, *, whole: bool) -> None:
    """Report what is wrong with the labels.

    Parameters
    ----------
    whole
        Whether all rows were read: the first ones may well have one label.
    """
    labels = scan.labels
    _report_unlabelled(scan, labels)
    _report_lists(scan)
    if whole:
        _report_one_label(scan, labels)
        _report_sorted(scan, labels)
        _report_same_answers(scan, labels.long)
    if labels.classes and len(labels.counts) > 1 and labels.labels is not None:
        _report_spellings(scan, labels, labels.labels)
        _report_bracketed(scan, labels)
        if labels.asked is not None:
            _report_contradictions(scan, labels.labels, labels.asked)


def _report_one_label(scan: Scan, labels: Labels) -> None:
    count = labels.counts.total()
    if len(labels.counts) == 1 and count == scan.rows >= FEWEST:
        label = next(iter(labels.counts))
        says = f"{label[:40]!r}, as in all {count:,} rows"
        says += ": bool('False') is True" if label == "True" else ""
        for row in range(scan.rows):
            scan.report("one-label", row, says=says)


def _report_unlabelled(scan: Scan, labels: Labels) -> None:
    """Report -1 beside 0, 1, 2: of two classes it may well be a third one."""
    count, least = len(labels.counts), min(labels.counts.values(), default=0)
    known = {str(number) for number in range(count)}
    if count < COUNTED or labels.counts.keys() != known:
        return
    if len(labels.unlabelled) <= RARER * least:
        says = f"-1, beside 0 to {count - 1}"
        for row in labels.unlabelled.numbers().tolist():
            scan.report("label-of-none", row, "label", says=says)


def _report_lists(scan: Scan) -> None:
    for name, row, column, says in scan.lists.found():
        scan.report(name, row, column, says=says)


def _report_sorted(scan: Scan, labels: Labels) -> None:
    if not labels.classes or labels.labels is None:
        return
    count = labels.counts.total()
    expected = 1 + count - sum(n * n for n in labels.counts.values()) / count
    if expected >= EXPECTED and labels.runs < STRETCHES * expected:
        says = f"{labels.runs:,} stretches of one label; by chance {expected:,.0f}"
        for row in range(scan.rows):
            scan.report("sorted-by-label", row, says=says)


def _report_spellings(scan: Scan, labels: Labels, file: KeyFile) -> None:
    usual: dict[str, str] = {}
    spelt = {text: spelling(text) for text in labels.counts}
    for text, _ in labels.counts.most_common():
        usual.setdefault(spelt[text], text)
    wrong = misspelt(by_spelling(labels.counts, spelt))
    rare = {}
    for text, count in labels.counts.items():
        often = usual[wrong.get(spelt[text], spelt[text])]
        several = len(spelt[text]) > 1
        if text != often and several and count <= RARER * labels.counts[often]:
            rare[hash(text)] = text, often
    known = np.array(sorted(rare), np.int64)
    for rows, places in file.among(known):
        for row, place in zip(rows.tolist(), places.tolist(), strict=True):
            text, often = rare[int(known[place])]
            says = f"{text[:40]!r}, and {often[:40]!r} elsewhere"
            scan.report("label-spelt-apart", row, says=says)


def _report_bracketed(scan: Scan, labels: Labels) -> None:
    least = max(FEWEST, SURE * scan.rows)
    rows, says = labels.bracketed, "the text begins with the label, in brackets"
    if len(rows) < least:
        rows, says = labels.begun, "the text begins with a word in brackets"
        says += ", and each label has its own"
        if len(rows) < least or not _one_for_each(labels):
            return
    for row in rows.numbers().tolist():
        scan.report("label-in-prompt", row, says=says, excerpt=scan.beginning)


def _one_for_each(labels: Labels) -> bool:
    """Tell whether nearly all rows of a label begin with a word that no other has."""
    usual: dict[str, str] = {}
    kept = 0
    for (word, label), count in labels.words.most_common():
        if label not in usual and word not in usual.values():
            usual[label] = word
            kept += count
    every = len(usual) == len(labels.counts) > 1
    return every and kept >= SURE * labels.words.total()


def _report_contradictions(scan: Scan, labels: KeyFile, asked: KeyFile) -> None:
    said = {hash(text): text for text in scan.labels.counts}
    for rows, firsts in asked.repeated():
        pairs = zip(labels.of(rows).tolist(), labels.of(firsts).tolist(), strict=True)
        for row, first, pair in zip(rows.tolist(), firsts.tolist(), pairs, strict=True):
            one, other = said[pair[0]], said[pair[1]]
            if spelling(one) != spelling(other) and not is_unfilled(scan, row):
                says = f"{one[:40]!r}, and {other[:40]!r} in {scan.place(first)}"
                scan.report("labels-contradict", row, says=says, excerpt=scan.beginning)


def _report_same_answers(scan: Scan, long: KeyFile) -> None:
    few, groups = _same(scan, long)
    short = scan.labels.counts
    short = short if len(short) <= CLASSES else Counter()
    total = few.total() + short.total()
    if len(few) + len(short) > 1 and total > IN_CLASSES * scan.rows:
        return
    for rows in groups:
        if _is_meant(scan, rows):
            continue
        says = f"the answer of {len(rows):,} rows that ask for different things"
        for row in rows.tolist():
            scan.report("answer-of-many", row, says=says, excerpt=scan.end)


def _same(scan: Scan, long: KeyFile) -> tuple[Counter[int], list[Rows]]:
    """Return how often long answers are given again, where a few are given by turns.

    Beside it stand the rows of each one that is given to many questions.
    """
    least = max(SAME, SAME_SHARE * scan.rows)
    given: Counter[int] = Counter()
    groups = []
    for rows, firsts in long.repeated():
        counted = Counter(firsts.tolist())
        for first, count in counted.items():
            given[first] = count + 1
            if count + 1 < least:
                continue
            group = np.sort(np.append(rows[firsts == first], first))
            if len(np.unique(scan.keys.of(group))) >= max(SAME, DIFFERENT * len(group)):
                groups.append(group)
    few = given.total() >= OFTEN * len(given)
    return given if few else Counter({int(g[0]): len(g) for g in groups}), groups


def _is_meant(scan: Scan, rows: Rows) -> bool:
    """Tell whether an answer fits to all that have it, as far as texts can tell."""
    texts = scan.texts
    if texts is None:
        return True
    known = [sides_of(texts[row]) for row in spread(rows.tolist())]
    if is_standing(known[0][1]):
        return True
    own = set(rows.tolist())
    others = [row for row in spread(range(scan.rows)) if row not in own]
    asked = [sides_of(texts[row])[0] for row in others]
    return of_one_topic([each[0] for each in known], asked)
