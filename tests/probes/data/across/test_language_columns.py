"""Texts of another script than their column, and translations with exchanged sides."""

import random

import pytest

from ftlab.probes.data.across.exchanged_sides import report_languages
from tests.probes.data.scanned import rows_with, scanned

ENGLISH = [
    "the",
    "bridge",
    "was",
    "built",
    "when",
    "they",
    "were",
    "here",
    "and",
    "it",
    "has",
    "been",
    "closed",
    "since",
]
GERMAN = [
    "die",
    "brücke",
    "wurde",
    "gebaut",
    "als",
    "sie",
    "hier",
    "waren",
    "und",
    "ist",
    "seitdem",
    "zu",
]
JAPANESE = "橋があるところ"


def told(rows):
    scan = scanned(rows)
    report_languages(scan)
    names = ("sides-exchanged", "text-of-other-script")
    return {name: rows_with(scan, name) for name in names if rows_with(scan, name)}


def translated(count=200, names=("en", "de"), seed=0):
    numbers = random.Random(seed)
    return [
        dict(zip(names, (said(numbers, w) for w in (ENGLISH, GERMAN)), strict=True))
        for _ in range(count)
    ]


def said(numbers, words):
    return " ".join([*numbers.sample(words, 6), f"x{numbers.randrange(900)}"])


def exchanged(rows, numbers):
    for at in numbers:
        one, two = rows[at]
        rows[at] = {one: rows[at][two], two: rows[at][one]}
    return rows


@pytest.mark.parametrize("names", [("en", "de"), ("source", "target"), ("de", "en_GB")])
def test_exchanged_sides_are_found(names):
    rows = exchanged(translated(names=names), (3, 50, 120))
    assert told(rows) == {"sides-exchanged": [3, 50, 120]}
    nested = [{"translation": row} for row in rows]
    if "en" in names:
        assert told(nested) == {"sides-exchanged": [3, 50, 120]}


@pytest.mark.parametrize(
    "rows",
    [
        translated(),
        exchanged(translated(), (3, 50)),
        exchanged(translated(80), (3, 50, 70)),
        exchanged(translated(), range(0, 200, 2)),
        exchanged(translated(names=("question", "answer")), (3, 50, 120)),
        [row | {"direction": "a"} for row in exchanged(translated(), (3, 50, 120))],
        [{"en": row["en"], "de": row["en"]} for row in translated()],
    ],
    ids=["right", "few", "small", "both ways", "questions", "told", "one language"],
)
def test_translations_in_order_are_silent(rows):
    assert told(rows) == {}


def test_a_text_of_another_script_is_found():
    rows = translated()
    rows[7]["de"] = JAPANESE
    assert told(rows) == {"text-of-other-script": [7]}


@pytest.mark.parametrize(
    ("names", "text", "other"),
    [
        (("en", "de"), "橋", None),
        (("en", "de"), f"{JAPANESE} ist neu", None),
        (("en", "de"), JAPANESE, f"{JAPANESE} means it"),
        (("en", "sr"), "\u041c\u043e\u0441\u0442 \u0436\u0438\u0432", None),
        (("question", "answer"), JAPANESE, None),
    ],
    ids=["short", "both", "quoted", "two scripts", "no language"],
)
def test_other_scripts_may_be_in_order(names, text, other):
    rows = translated(names=names)
    rows[7][names[1]] = text
    rows[7][names[0]] = other or rows[7][names[0]]
    assert told(rows) == {}


def test_names_in_latin_letters_are_in_order_everywhere():
    numbers = random.Random(0)
    rows = [
        {"en": said(numbers, ENGLISH), "ja": "".join(numbers.sample(JAPANESE, 6))}
        for _ in range(100)
    ]
    rows[7]["ja"] = "GIMP"
    assert told(rows) == {}


@pytest.mark.parametrize(("period", "is_told"), [(14, True), (4, False)])
def test_some_texts_of_a_column_may_be_of_another_script(period, is_told):
    rows, others = translated(), range(0, 200, period)
    for at in others:
        rows[at]["de"] = JAPANESE
    assert told(rows).get("text-of-other-script", []) == (list(others) * is_told)


def test_names_in_latin_letters_stand_among_another_script():
    rows = [
        {"en": row["en"], "ru": f"\u041c\u043e\u0441\u0442 \u0436\u0438\u0432 {at}"}
        for at, row in enumerate(translated())
    ]
    rows[7]["ru"] = f"LDAP {JAPANESE} GNU Emacs"
    rows[8]["ru"] = "LDAP GNU Emacs \u6a4b"
    assert told(rows) == {"text-of-other-script": [7]}
