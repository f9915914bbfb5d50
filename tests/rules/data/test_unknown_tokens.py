"""DAT009."""

from ftlab.rules.data.unknown_tokens import UnknownTokens
from tests.rules.data.rows import EOS, SPECIAL, check, row, text
from tests.runs import only

RULE = UnknownTokens()
UNK = 9
KNOWN = SPECIAL | {"unk": {UNK}, "control": SPECIAL["control"] | {UNK}}


def flooded(length, unknown, begin=10):
    ids = text(length, begin)
    for place in range(1, 2 * unknown, 2):
        ids[place] = UNK
    return ids


def test_texts_of_unknown_tokens_are_named():
    rows = [row(flooded(20, 8, begin)) for begin in (10, 11)]
    only(check(RULE, rows, special=KNOWN), place="token 1 of sample 0", share=0.4)


def test_long_texts_are_judged_by_both_ends():
    rows = [row(flooded(400, 199, begin)) for begin in (10, 11)]
    (finding,) = check(RULE, rows, special=KNOWN)
    assert 0.45 < finding.evidence["share"] < 0.55


def test_a_few_rare_words_are_usual():
    rows = [row(flooded(20, 2, begin)) for begin in (10, 11)]
    assert check(RULE, rows, special=KNOWN) == ()


def test_a_short_row_says_nothing():
    rows = [row(flooded(15, 6, begin)) for begin in (10, 11)]
    assert check(RULE, rows, special=KNOWN) == ()
    known = [row(text(20, begin)) for begin in range(20, 24)]
    assert check(RULE, rows + known, special=KNOWN) == ()


def test_many_short_rows_are_judged_together():
    rows = [row(flooded(8, 2, begin)) for begin in range(10, 14)]
    only(check(RULE, rows, special=KNOWN), samples=4)
    assert check(RULE, [*rows, row(text(30))], special=KNOWN) == ()


def test_few_texts_of_many_are_enough_where_they_are_long():
    rows = [row(flooded(20, 8, begin)) for begin in (10, 11)]
    known = [row(text(30, begin)) for begin in range(20, 40)]
    only(check(RULE, rows + known, special=KNOWN), samples=2)


def test_noise_in_the_inputs_alone_is_wanted():
    rows = [row(flooded(20, 8, begin), text(20, begin)) for begin in (10, 11)]
    assert check(RULE, rows, special=KNOWN) == ()


def test_an_unknown_token_that_ends_texts_is_none():
    known = KNOWN | {"unk": {EOS}}
    rows = [row([EOS if each == UNK else each for each in flooded(20, 8)])]
    other = [row([EOS if each == UNK else each for each in flooded(21, 8)])]
    assert check(RULE, rows + other, special=known) == ()


def hidden(ids, places):
    return [each if at in places else -100 for at, each in enumerate(ids)]


def test_texts_with_masked_words_are_read_where_nothing_is_masked():
    texts = [flooded(20, 8, begin) for begin in (10, 11)]
    rows = [
        row([3 if at in {0, 4} else each for at, each in enumerate(ids)], labels)
        for ids in texts
        for labels in [hidden(ids, {0, 4})]
    ]
    only(check(RULE, rows, special=KNOWN), place="token 1 of sample 0", share=8 / 18)


def test_texts_of_a_classifier_have_no_labels():
    rows = [row(flooded(20, 8, begin), None) for begin in (10, 11)]
    assert len(check(RULE, rows, special=KNOWN)) == 1


def test_words_that_are_hidden_behind_unknown_tokens_are_wanted():
    labels = [hidden(text(40, begin), set(range(1, 25, 2))) for begin in (10, 11)]
    texts = [flooded(40, 12, begin) for begin in (10, 11)]
    rows = [row(*pair) for pair in zip(texts, labels, strict=True)]
    assert check(RULE, rows, special=KNOWN) == ()
