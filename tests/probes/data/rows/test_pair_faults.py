"""Preferences with scores, and with prompts in their sides."""

import pytest

from ftlab.probes.data.rows.pair_faults import other_prompts, pair_faults, prompt_again
from ftlab.probes.data.rows.row_faults import row_faults
from ftlab.probes.data.rows.row_parts import parts_of

PROMPT = "Which bridge is the oldest of the town?"


def kinds(**row):
    return [name for name, *_ in pair_faults(row)]


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


def pair(chosen, rejected, prompt=PROMPT):
    row = {"prompt": prompt, "chosen": chosen, "rejected": rejected}
    return [says for _, _, says in prompt_again(parts_of(row))]


BOTH, ALONE = "begins with the prompt, as rejected does", "and rejected does not"


def test_a_prompt_in_both_sides_is_found():
    assert pair(f"{PROMPT} The old one.", f"{PROMPT}\nNone.") == [BOTH]
    title = "The old bridge of the town"
    assert pair(f"{title}\nIt is.", f"{title}\nNo.", title) == [BOTH]


def test_a_prompt_in_the_chosen_side_is_found():
    (says,) = pair(f"{PROMPT}\n\nThe old one.", "None.")
    assert says.endswith(ALONE)
    said = [talk(f"{PROMPT} So.", roles=("assistant",)), talk("No.", roles=("gpt",))]
    (says,) = pair(*said, prompt=talk("Who?", "I.", PROMPT))
    assert says.endswith(ALONE)
    row = {"prompt": PROMPT, "chosen": f"{PROMPT} Yes.", "rejected": "No."}
    (found,) = row_faults(row, parts_of(row), ())
    assert found[:2] == ("prompt-in-pair", "chosen")


@pytest.mark.parametrize(
    ("chosen", "rejected", "prompt"),
    [
        ("The old one.", f"{PROMPT} None.", PROMPT),
        (PROMPT, "None.", PROMPT),
        ("Which? The old one.", "Which? None.", "Which?"),
        ("The old bridge of the town is red.",) * 2 + ("The old bridge of the town",),
        ([{"role": "user", "content": PROMPT}],) * 2 + (PROMPT,),
        (*[[{"role": "user", "content": f"{PROMPT} And who?"}]] * 2, PROMPT),
        (*[[{"role": r, "content": PROMPT} for r in ("user", "gpt")]] * 2, PROMPT),
        ("The old one.", "None.", None),
    ],
)
def test_sides_that_begin_alike_are_in_order(chosen, rejected, prompt):
    assert pair(chosen, rejected, prompt) == []


def talk(*texts, roles=("user", "assistant")):
    pairs = enumerate(texts)
    return [{"role": roles[at % len(roles)], "content": text} for at, text in pairs]


def parted(chosen, rejected):
    row = {"chosen": chosen, "rejected": rejected}
    found = list(other_prompts(parts_of(row)))
    assert found == [each for each in row_faults(row, parts_of(row), ()) if found]
    return [(where, says) for _, where, says in found]


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
