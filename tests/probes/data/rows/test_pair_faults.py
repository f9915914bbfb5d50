"""Preferences with scores, and with prompts in their sides."""

import pytest

from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.rows.pair_faults import pair_faults


def kinds(**scores):
    row = {"chosen": "a", "rejected": "b"} | scores
    return [name for name, *_ in pair_faults(row, parts_of(row))]


@pytest.mark.parametrize(
    ("chosen", "rejected"),
    [
        ("score_chosen", "score_rejected"),
        ("chosen_score", "rejected_score"),
        ("chosen-rating", "rejected-rating"),
        ("chosen_avg_rating", "rejected_avg_rating"),
    ],
)
def test_a_lower_score_of_the_chosen_side_is_found(chosen, rejected):
    assert kinds(**{chosen: 2.1, rejected: 8.3}) == ["pair-turned-round"]
    assert kinds(**{chosen: 8.3, rejected: 2.1}) == []
    assert kinds(**{chosen: 5, rejected: 5}) == []


@pytest.mark.parametrize("score", [None, "high", float("nan"), True])
def test_scores_that_cannot_be_compared_are_passed_over(score):
    assert kinds(score_chosen=score, score_rejected=2) == []
    assert kinds(score_chosen=1, score_rejected=None) == []


def talk(*texts, roles=("user", "assistant")):
    pairs = enumerate(texts)
    return [{"role": roles[at % len(roles)], "content": text} for at, text in pairs]


def parted(chosen, rejected):
    row = {"chosen": chosen, "rejected": rejected}
    return [(where, says) for _, where, says in pair_faults(row, parts_of(row))]


def test_sides_that_answer_different_prompts_are_found():
    asked = talk("Which bridge?", "The old one.")
    assert parted(asked, talk("Who  is it?", "Nobody.")) == [
        ("rejected[0].content", "'Who is it?', not 'Which bridge?'")
    ]
    later = parted([*asked, *talk("Why?", "So.")], [*asked, *talk("When?", "Now.")])
    assert later == [("rejected[2].content", "'When?', not 'Why?'")]
    roles = ("system", "user", "assistant")
    said = parted(talk("Be kind.", "Why?", "So.", roles=roles), talk("When?", "Now."))
    assert said == [("rejected[0].content", "'When?', not 'Why?'")]


@pytest.mark.parametrize(
    ("chosen", "rejected"),
    [
        (talk("Why?", "So."), talk(" Why?\n", "No.")),
        (talk("Why?", "So.", "And?", "Well."), talk("Why?", "No.", "Oh?", "Yes.")),
        (talk("Why?", "So.", "And?", "Well."), talk("Why?", "So.")),
        (talk("Why?", "So."), talk("Be rude.", "Why?", roles=("system", "user"))),
        (talk("So.", roles=("assistant",)), talk("No.", roles=("assistant",))),
        ("So.", "No."),
        (talk("Why?", "So."), "No."),
    ],
)
def test_sides_may_part_in_answers_and_behind_them(chosen, rejected):
    assert parted(chosen, rejected) == []
