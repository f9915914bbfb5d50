"""Fields in prompts that were not filled in, and those that are meant."""

import pytest

from ftlab.probes.data.across import unfilled_prompts
from ftlab.probes.data.across.label_reports import report_labels
from ftlab.probes.data.across.reports import report_repeated, report_unfilled
from tests.probes.data.scanned import rows_with, scanned

ASKED = "Context:\n{}\n\nQuestion: How old is it?"


def rows(field, asked=ASKED, answer="It is {} years old.", texts=20, fields=3):
    said = [field] * fields + [f"It was built {at} years ago." for at in range(texts)]
    return [
        {"prompt": asked.replace("{}", text), "completion": answer.replace("{}", "9")}
        for text in said
    ]


def reported(made, name="unfilled-prompt"):
    scan = scanned(made)
    report_unfilled(scan)
    return rows_with(scan, name)


@pytest.mark.parametrize(
    "field",
    [
        "{context}",
        "{{context}}",
        "{{ context }}",
        "${context}",
        "[CONTEXT]",
        "{row.it}",
    ],
)
def test_a_field_is_found_where_other_prompts_have_a_text(field):
    assert reported(rows(field)) == [0, 1, 2]
    assert reported(rows(field)[::-1]) == [20, 21, 22]


def test_a_field_within_a_sentence_or_alone_is_found():
    assert reported(rows("{article}", "Please sum {} up in a line.")) == [0, 1, 2]
    assert reported(rows("{question}", "{}")) == [0, 1, 2]


def test_a_field_in_a_message_of_the_system_is_found():
    made = [
        {
            "messages": [
                {"role": "system", "content": row["prompt"]},
                {"role": "user", "content": f"What of {at}?"},
                {"role": "assistant", "content": "That."},
            ]
        }
        for at, row in enumerate(rows("{context}"))
    ]
    assert reported(made) == [0, 1, 2]


def test_a_field_in_all_prompts_is_of_its_own_kind():
    made = rows("{context}", texts=0, fields=60)
    assert reported(made) == []
    assert len(reported(made, "field-in-all-prompts")) == 60


def test_where_fields_are_meant_nothing_is_said():
    asked = "Fill the template in.\n" + ASKED
    assert reported(rows("{context}", asked)) == []
    assert reported(rows("{context}", answer="Of {context}, {}.")) == []
    assert reported(rows("{context}", "Cancel my order {}")) == [0, 1, 2]
    delexicalised = rows(
        "{order_number}", "Cancel my order {}", "{order_number} is {}."
    )
    assert reported(delexicalised) == []


@pytest.mark.parametrize(
    "field",
    [r"\frac{one}{two}", "print(f'{name}')", "{}", '{"a": 1}', "[NAME]", "a{context}"],
)
def test_what_is_no_field_is_left_alone(field):
    assert reported(rows(field)) == []


def test_one_such_prompt_or_few_others_prove_nothing():
    assert reported(rows("{context}", fields=1)) == []
    assert reported(rows("{context}", texts=9)) == []


def test_copies_and_contradictions_of_such_rows_have_no_other_cause():
    made = rows("{review}", "Review: {}\nIs it good?", "No.", 200, 6)
    for at, row in enumerate(made):
        row["completion"] = " yes" if at % 2 else " no"
    scan = scanned(made)
    report_unfilled(scan)
    report_repeated(scan)
    report_labels(scan, whole=True)
    assert rows_with(scan, "unfilled-prompt") == [0, 1, 2, 3, 4, 5]
    assert rows_with(scan, "duplicate-row") == []
    assert rows_with(scan, "labels-contradict") == []


def test_of_many_rows_a_part_is_looked_at_for_a_text(monkeypatch):
    monkeypatch.setattr(unfilled_prompts, "EACH", 4)
    monkeypatch.setattr(unfilled_prompts, "STEP", 4)
    assert reported(rows("{context}", texts=20)) == [0, 1, 2]
    assert reported(rows("{context}", texts=7)) == []
