"""Texts that stand twice in a row at the beginning of a sample."""

import numpy as np

from ftlab.probes.tokens.twice import twice_in

BOS, TURN = 1, 2
PROMPT = [11, 12, 13, 14, 15]
ANSWER = [31, 32, 33]


def found(*ids):
    row = np.array([each for part in ids for each in part])
    return twice_in(row, row < 5)


def test_a_prompt_stands_twice_with_an_answer_behind_it():
    twice = found(PROMPT, PROMPT, ANSWER)
    assert (twice.start, twice.again, twice.end) == (0, 5, 10)
    assert (twice.first, twice.second, twice.controls) == ((), (), 0)


def test_bos_may_stand_before_both_or_before_the_first_alone():
    both = found([BOS, *PROMPT], [BOS, *PROMPT], ANSWER)
    assert (both.start, both.again, both.controls) == (0, 6, 1)
    one = found([BOS], PROMPT, PROMPT, ANSWER)
    assert (one.start, one.again) == (1, 6)


def test_an_opening_belongs_to_the_text_and_may_follow_once_more():
    text = [TURN, *PROMPT, TURN]
    twice = found([BOS], text, text, [TURN, *ANSWER])
    assert (twice.start, twice.again, twice.controls) == (1, 8, 2)


def test_what_a_space_in_front_makes_of_the_first_word_is_told():
    twice = found([BOS, 90], PROMPT, [91, 92], PROMPT, ANSWER)
    assert (twice.first, twice.second) == ((BOS, 90), (91, 92))
    assert (twice.again, twice.end) == (7, 14)


def test_a_question_that_is_quoted_stands_between_other_tokens():
    twice = found([TURN], PROMPT, [TURN + 1], PROMPT, ANSWER)
    assert (twice.first, twice.second) == ((TURN,), (TURN + 1,))
    assert found([TURN, 50, 51, 52, 53, 54], PROMPT, [60] * 3, PROMPT, ANSWER) is None


def test_what_repeats_itself_to_the_end_or_more_than_twice_is_no_prompt():
    assert found(PROMPT, PROMPT) is None
    assert found(PROMPT, PROMPT, [BOS]) is None
    assert found(PROMPT, PROMPT, PROMPT[:3]) is None
    assert found(PROMPT, PROMPT, PROMPT, ANSWER) is None


def test_few_tokens_are_chance():
    few = PROMPT[:3]
    assert found(few, few, ANSWER) is None
    assert found(PROMPT[:4], PROMPT[:4], ANSWER) is not None


def test_rows_without_words_have_no_text():
    assert found([BOS, BOS, BOS]) is None
    assert twice_in(np.zeros(0, np.int64), np.zeros(0, bool)) is None


def test_tokens_that_stand_again_and_again_are_no_text():
    unknown = [BOS, *[3] * 6]
    assert found(unknown, [40], [3] * 6, [41], ANSWER) is None
    assert found([3] * 6, [40], [3] * 6, [40], ANSWER) is None
    assert found([2, 3, 4, 11, 12], [2, 3, 4, 11, 12], ANSWER) is None
    assert found([BOS], [11, 11, 12, 12, 13], [11, 11, 12, 12, 13], ANSWER) is None
    assert found([BOS], [11, 11, 12, 13, 14], [11, 11, 12, 13, 14], ANSWER) is not None
