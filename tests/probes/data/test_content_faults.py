"""All looks at a row, each behind its cheap test."""

import pytest

from ftlab.probes.data.content_faults import content_faults
from ftlab.probes.data.foreign_marks import ForeignMarks
from ftlab.probes.data.row_parts import parts_of


def found_in(row):
    whole = "\n".join(part.text for part in row.parts)
    return content_faults(row, ForeignMarks(None), whole)


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
