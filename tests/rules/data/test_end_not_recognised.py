"""DAT018."""

from dataclasses import replace

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place
from ftlab.records.sample_facts import SeenSamples
from ftlab.records.spelled_mark import SpelledMark
from ftlab.rules.data.end_not_recognised import EndNotRecognised
from ftlab.rules.engine import Engine
from tests.rules.data.rows import EOS, SPECIAL, TURN, check, row, run_of, text
from tests.rules.data.talks import FACTS, check as check_talks, part, sample
from tests.runs import only

RULE = EndNotRecognised()
ROWS = [row(text(8, begin)) for begin in range(10, 18)]


def found(name, samples=8, ends=8, paired=False, rows=ROWS):
    run = run_of(rows)
    (event,) = [each for each in run.whole.events if each.kind == "rows"]
    places = tuple((0, n, 5, 8) for n in range(samples))
    mark = SpelledMark(name, samples, ends, paired, places)
    seen = replace(SeenSamples.from_json(0, event.detail), marks=(mark,))
    run.append(Event("rows", 0, 0.0, "", seen.as_json()))
    return Engine([RULE]).check(run).findings


def test_texts_end_with_a_mark_that_is_text():
    only(found("[FIN]"), "warning", "token 5 of sample 0", reason="at-the-end")


def test_nine_of_ten_end_with_it():
    assert found("[FIN]", ends=7) == ()


def test_texts_without_marks_are_left_in_peace():
    assert check(RULE, ROWS) == ()


@pytest.mark.parametrize(
    "name",
    [
        "</s>",
        "<eos>",
        "<|im_end|>",
        "<|turn|>",
        "<end_of_turn>",
        "[EOS]",
        "<\uff5cfin\uff5c>",
    ],
)
def test_a_mark_whose_name_says_an_end_may_stand_within(name):
    only(found(name, samples=4, ends=0), reason="within")
    assert found(name, samples=3, ends=0) == ()
    assert found(name, samples=4, ends=0, paired=True) == ()


@pytest.mark.parametrize("name", ["<br>", "<s>", "</p>", "[end]", "<|-|>", "<vendor>"])
def test_other_strings_within_a_text_are_text(name):
    assert found(name, ends=0) == ()


def test_a_tag_that_is_opened_closes_a_text():
    assert found("</html>", paired=True) == ()
    assert len(found("</s>", paired=True)) == 1


def test_where_a_text_has_an_end_a_mark_is_text():
    assert found("</s>", rows=[*ROWS, row([*text(8, 30), EOS])]) == ()


def test_masked_words_are_no_texts_to_go_on():
    masked = row(text(8, 30), [-100] * 7 + [3])
    assert found("</s>", rows=[*ROWS, masked]) == ()


def test_rows_without_labels_are_texts_too():
    assert len(found("</s>", rows=[row(text(8, n), None) for n in range(10, 18)])) == 1


TALK = sample(
    part(1, 2),
    part(2, 3, part="end"),
    part(3, 5, "assistant"),
    part(5, 12, "assistant", part="end"),
)
SPELT = replace(FACTS, stops={}, pieces={"<u>": 5, "</t>": 7})


def test_the_end_of_an_answer_is_spelt():
    finding = only(check_talks(RULE, TALK, facts=SPELT), "warning", pieces=7)
    assert finding.place == Place("token", "5 of sample 0")


def test_openings_may_be_spelt():
    facts = replace(FACTS, pieces={"<u>": 5, "</t>": 1})
    assert check_talks(RULE, TALK, facts=facts) == ()


def test_one_token_among_them_is_an_end():
    assert check_talks(RULE, TALK, facts=replace(SPELT, stops={"template": (3,)})) == ()


def test_one_of_two_strings_may_be_spelt():
    both = replace(SPELT, last_ends={"assistant": "</t><e>"})
    facts = replace(both, pieces={"</t>": 7, "<e>": 1})
    assert check_talks(RULE, TALK, facts=facts) == ()


def test_an_end_without_control_strings_is_another_matter():
    assert check_talks(RULE, TALK, facts=replace(SPELT, pieces={"<u>": 5})) == ()


ENDED = [row([*text(n, 10 + n), TURN]) for n in (4, 6, 7, 9)]


def test_samples_end_with_what_generation_passes_over():
    finding = only(check(RULE, ENDED, pieces={TURN: "</turn>", EOS: "</s>"}), "warning")
    assert finding.place == Place("config", "generation_config.eos_token_id")
    assert Place("token", "4 of sample 0") in finding.places
    assert finding.evidence["heeded"] == "'</s>'"


def test_generation_may_end_at_several_tokens():
    special = SPECIAL | {"generation": {EOS, TURN}}
    assert check(RULE, ENDED, special=special) == ()


def test_eos_of_the_tokenizer_does_not_help():
    special = SPECIAL | {"stop": {EOS, TURN}, "eos": {TURN}}
    assert check(RULE, ENDED, special=special) != ()


def test_samples_that_end_in_several_ways_prove_nothing():
    assert check(RULE, [*ENDED, row([*text(5), EOS])]) == ()
    assert check(RULE, ENDED[:3]) == ()


def test_an_end_that_is_not_trained_is_another_matter():
    rows = [row([*text(n), TURN], [*text(n), -100]) for n in (4, 6, 7, 9)]
    assert check(RULE, rows) == ()


def test_what_generation_ends_at_may_be_unknown():
    special = {k: v for k, v in SPECIAL.items() if k != "generation"}
    assert check(RULE, ENDED, special=special) == ()
