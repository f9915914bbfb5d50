"""All looks at a row, each behind its cheap test."""

import pytest
from hypothesis import given, strategies as st

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.content_faults import content_faults
from ftlab.probes.data.texts.foreign_marks import ForeignMarks
from ftlab.probes.data.texts.glance import Glances
from ftlab.probes.data.texts.letter_faults import letter_faults


def found_in(row):
    return content_faults(row, ForeignMarks(None), Glances().at(row))


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("nan", "missing-value-as-answer"),
        ("### Response:\nIt is so.", "mark-before-answer"),
        ("AI: It is so, as the others have said.", "mark-before-answer"),
        ("**Answer:** It is so, as others have said.", "mark-before-answer"),
        ("It is.\nUser: a\nAI: b", "next-turn-in-answer"),
        ("<p>It is so.</p>", "html-tags"),
        ("It is of {main_reason}.", "unfilled-field"),
        ("a\x0bb", "invisible-character"),
        ("a\x1b[31mb", "invisible-character"),
        ("a &quot;b&quot;", "html-entities"),
        (r"So.\n\nAnd so.", "escaped-text"),
        ("{'answer': 'It is.'}", "wrapped-answer"),
        ('{"answer": "It is."}', "wrapped-answer"),
        ("It de-\npends on the wea-\nther.", "hyphenated-lines"),
        ("a\n<<<<<<< b\n=======\nc\n>>>>>>> d", "merge-markers"),
        ("???? ?? ???", "broken-encoding"),
        ("the s\u0435ries", "mixed-scripts"),
        ("It is 7\u30104\u2020a\u3011", "citation-mark"),
        ("It is 7 [oai_citation:1]", "citation-mark"),
        ("It is 7 :contentReference[oaicite:0]", "citation-mark"),
        ("It is AKIA" + "Q3EGRV7JXNTW5KPZ", "secret-in-text"),
        ("It is hf_" + "QzEGRVtJXNaWwKPZbcdYfgHijkLmnopqrs", "secret-in-text"),
        ("It is xoxb-" + "98765432109-QzEGRVtJXNaWwKPZbcdYfg", "secret-in-text"),
    ],
)
def test_no_cheap_test_hides_a_fault(answer, name):
    row = parts_of({"prompt": "Why?", "completion": answer})
    ((part, fault),) = found_in(row)
    assert (part.where, fault.name) == ("completion", name)


def test_a_plain_row_has_no_fault():
    row = parts_of({"prompt": "Why <is> it [so]?", "completion": "It's - so & so_so."})
    assert list(found_in(row)) == []
    assert list(found_in(parts_of({"input_ids": [1]}))) == []


LETTERS = (
    "a \u201c\u2014\u00e9\u00e3\u00c3\u00a9\u00c2\u00a4\u20ac"
    "\ufffd\u200b\u200d\u0301\x07\x1b[]\u00fd\u00fe\u00f0\u00e7\u00b9\u00b3\u0432\u0402\u0420\ud83d"
)


@given(st.lists(st.sampled_from(LETTERS), max_size=30).map("".join))
def test_no_fault_of_letters_is_passed_over(text):
    row = parts_of({"prompt": "Why?", "completion": text})
    assert {*letter_faults(row)} <= {*found_in(row)}


@pytest.mark.parametrize(
    "text",
    [
        "dosyas\u00fd i\u00e7in aral\u00fdklar\u00fd g\u00f6ster",
        "za\u00b3aduj plik, po\u00b3owa danych",
        "\u00cf\u00f0\u00e8\u00e2\u00e5\u00f2 "
        "\u00ec\u00e8\u00f0\u00ee\u00e2\u00e0\u00ff "
        "\u00e2\u00e5\u00f1\u00ed\u00e0",
    ],
)
def test_nor_are_those_of_other_code_pages(text):
    row = parts_of({"prompt": "Why?", "completion": text})
    assert [*letter_faults(row)]
    assert {*letter_faults(row)} <= {*found_in(row)}
