"""Judging what was found by how many rows have it."""

import numpy as np
import pytest

from ftlab.probes.data.across.reports import (
    lengths_of,
    report_answers,
    report_given_away,
    report_labels,
    report_repeated,
    scanned_rows,
)
from ftlab.probes.data.files.entries import Entry, Source, entries_of
from ftlab.probes.data.scan import Looks, Scan
from ftlab.probes.data.texts.special_tokens import SpecialTokens
from ftlab.records.data_scan import Lengths
from ftlab.rules import dataset_issues


def scanned(rows):
    read = [Source("", "row", lambda: (Entry(at, row) for at, row in enumerate(rows)))]
    scan = Scan(read, Looks(SpecialTokens(None)))
    for at, entry in entries_of(read):
        scan.take(at, entry)
    scan.finish()
    return scan


def issues_of(scan, **about):
    return dataset_issues.issues_of(scanned_rows(scan, **about))


def pair(at, answer):
    return {"prompt": f"Say {at}.", "completion": answer}


@pytest.mark.parametrize(("empty", "label"), [(1, "info"), (2, "warning")])
def test_a_few_rows_are_a_note_and_more_a_warning(empty, label):
    rows = [pair(at, "" if at < empty else "It.") for at in range(2000)]
    (issue,) = issues_of(scanned(rows))
    assert (issue.name, issue.severity.label) == ("empty-answer", label)
    share = {1: "0.05 %", 2: "0.1 %"}[empty]
    assert issue.message == f"an empty answer: {empty} of 2,000 rows ({share})"
    assert issue.left_out
    assert [spot.row for spot in issue.spots] == list(range(empty))


def test_what_most_rows_have_is_meant():
    talk = [{"role": "user", "content": "Say it."}]
    assert issues_of(scanned([{"messages": talk}] * 1 + [{"messages": talk}])) == ()


def test_a_share_is_told_of_the_rows_that_can_have_it():
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    scan = scanned([{"messages": talk}] * 90 + [pair(at, "It.") for at in range(10)])
    for row in range(90, 94):
        scan.report("special-token-in-text", row)
    assert issues_of(scan)[0].severity.label == "warning"
    for row in range(94, 96):
        scan.report("special-token-in-text", row)
    assert issues_of(scan) == ()


def test_the_worst_stand_in_front():
    rows = [
        {"messages": "[]"},
        *(pair(at, "" if at < 3 else "It.") for at in range(99)),
    ]
    names = [issue.name for issue in issues_of(scanned(rows))]
    assert names == ["malformed-messages", "empty-answer"]
    assert issues_of(scanned(rows), meant=("empty-answer",))[-1].name == names[0]


def test_leaked_rows_are_judged_by_the_share_of_the_evaluation_data():
    scan = scanned([pair(at, "It.") for at in range(10_000)])
    scan.report("leaked-evaluation-row", 5)
    (issue,) = issues_of(scan, evaluation={"leaked-evaluation-row": (1, 20)})
    assert issue.severity.label == "warning"
    assert issue.message.endswith("; 1 of 20 rows of the evaluation data (5 %)")


def test_repeated_rows_name_the_first_one():
    scan = scanned([pair(1, "a"), pair(2, "b"), pair(1, "a"), pair(1, "a")])
    report_repeated(scan)
    (issue,) = issues_of(scan)
    assert [(spot.row, spot.says) for spot in issue.spots] == [
        (2, "the same as row 0"),
        (3, "the same as row 0"),
    ]
    assert issue.spots[0].excerpt == r"Say 1.\na"


def test_labels_that_are_given_away_are_told_with_their_words():
    labels = ["red", "blue"]
    rows = [pair(f"{at} colour={labels[at % 2]}", labels[at % 2]) for at in range(20)]
    scan = scanned(rows)
    report_given_away(scan)
    (issue,) = issues_of(scan)
    assert issue.rows == 20
    assert issue.spots[0].column == "prompt"
    assert issue.spots[0].says == "the answer follows 'colour='"


def test_answers_that_are_cut_at_one_length_are_told_with_their_ends():
    rows = [pair(at, "It ends." * (at % 9 + 1)) for at in range(40)]
    rows += [pair(at, "It goes on as " * 10) for at in range(40, 60)]
    scan = scanned(rows)
    report_answers(scan)
    (issue,) = issues_of(scan)
    assert [spot.row for spot in issue.spots] == list(range(40, 60))
    assert issue.spots[0].says == "breaks off at 140 tokens, as 20 of 20 do there"
    assert issue.spots[0].excerpt.endswith("It goes on as")


def test_lengths_are_filled_in():
    empty = np.empty(0, np.int64)
    found = lengths_of(
        scanned(["a", "bb", "c"]), Lengths("characters", empty, empty, 0)
    )
    assert (found.sizes.tolist(), found.rows.tolist(), found.total) == (
        [1, 2],
        [2, 1],
        4,
    )


def test_a_missing_value_is_told_where_answers_are_long():
    rows = [pair(at, f"It is number {at}, and {'so ' * 20}.") for at in range(40)]
    rows[7] = pair(7, "nan")
    scan = scanned(rows)
    report_answers(scan)
    (issue,) = issues_of(scan)
    assert (issue.name, issue.spots[0].row) == ("missing-value-as-answer", 7)


def test_one_label_for_all_rows_is_told_once_all_were_read():
    rows = [{"text": f"Text {at}.", "label": "billing"} for at in range(60)]
    scan = scanned(rows)
    report_labels(scan, whole=False)
    assert issues_of(scan) == ()
    report_labels(scan, whole=True)
    (issue,) = issues_of(scan)
    assert (issue.name, issue.rows) == ("one-label", 60)


def test_a_header_that_comes_again_is_no_copy():
    scan = scanned([pair(1, "It."), {name: name for name in pair(1, "")}] * 2)
    report_repeated(scan)
    assert scan.findings.rows["header-as-row"].numbers().tolist() == [1, 3]
    assert scan.findings.rows["duplicate-row"].numbers().tolist() == [2]


def test_a_completion_that_is_its_prompt_is_told_with_its_column():
    asked = "Why is the sky blue in the evening?"
    scan = scanned([*(pair(at, "For the light.") for at in range(9)), pair_of(asked)])
    report_given_away(scan)
    (spot,) = scan.findings.spots["prompt-in-completion"]
    assert (spot.row, spot.column) == (9, "completion")


def pair_of(text):
    return {"prompt": text, "completion": text}
