"""Tokens are counted as the tokenizer and its template make them."""

import pytest

from ftlab.probes.data import token_counts
from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.token_counts import RowLengths, TokenCounter, rendered_length
from ftlab.probes.templates.survey import survey
from ftlab.records.errors import BadValueError
from ftlab.records.template import TemplateFacts
from tests.probes.tokens import vocabularies

TEXTS = ["", "Name a prime number.", "日本語 🙂 naïve", "def f(x):\n    return x + 1"]


def talk(*texts):
    roles = ("system", "user", "assistant", "user", "assistant")
    pairs = zip(roles, texts, strict=False)
    return parts_of({"messages": [{"role": r, "content": t} for r, t in pairs]})


def test_counts_are_those_of_the_tokenizer():
    tokenizer = vocabularies.byte_level()
    expected = tokenizer(TEXTS, add_special_tokens=False)["input_ids"]
    counts, unknown = TokenCounter(tokenizer).counts(TEXTS)
    assert counts == [len(ids) for ids in expected]
    assert unknown == []


def test_a_limit_and_padding_of_the_tokenizer_do_not_count_and_stay():
    tokenizer = vocabularies.byte_level()
    free = TokenCounter(tokenizer).counts(TEXTS)
    tokenizer(TEXTS, truncation=True, max_length=4, padding=True)
    inner = tokenizer.backend_tokenizer
    before = inner.truncation, inner.padding
    assert before[0] is not None
    assert TokenCounter(tokenizer).counts(TEXTS) == free
    assert (inner.truncation, inner.padding) == before
    tokenizer(TEXTS)


def test_a_slow_tokenizer_is_counted_too():
    class Slow:
        def convert_ids_to_tokens(self, ids):
            return list(map(chr, ids))

        def __call__(self, texts, add_special_tokens=True):
            return {"input_ids": [list(map(ord, text)) for text in texts]}

    assert TokenCounter(Slow()).counts(["ab", "c"]) == ([2, 1], [])
    with pytest.raises(BadValueError, match="of type int; pass one of"):
        TokenCounter(3)


def test_unknown_tokens_are_counted_where_there_are_some():
    counter = TokenCounter(vocabularies.unigram())
    counts, unknown = counter.counts(["Name a prime", "\u0d9e\ua4ea"])
    assert unknown[0] == 0
    assert 0 < unknown[1] <= counts[1]


def test_a_long_text_is_estimated(monkeypatch):
    monkeypatch.setattr(token_counts, "LONG", 1000)
    counter = TokenCounter(vocabularies.byte_level())
    text = "Name a prime number. " * 500
    whole = len(counter.ids(text))
    assert counter.counts([text])[0][0] == pytest.approx(whole, rel=0.02)


@pytest.mark.parametrize("name", ["byte_level", "byte_fallback", "unigram"])
def test_a_conversation_is_as_long_as_its_rendering(name):
    tokenizer = getattr(vocabularies, name)()
    counter = TokenCounter(tokenizer)
    lengths = RowLengths(counter, survey(tokenizer))
    assert lengths.template
    for texts in (("a", "Name one.", "Seven."), ("b", "c", "d", "e", "f.")):
        row = talk(*texts)
        counts, _ = counter.counts([part.text for part in row.parts])
        total, before = lengths.length(row, counts)
        assert abs(total - rendered_length(tokenizer, row)) <= len(texts)
        assert 0 < before < total


def test_what_stands_before_between_and_behind_messages_is_counted():
    counter = TokenCounter(vocabularies.byte_level())
    facts = TemplateFacts(
        beginning="<|bos|>",
        openings={"user": "<|im_start|>", "assistant": "<|im_start|><|bos|>"},
        ends={"user": "<|im_end|>", "assistant": ""},
        last_ends={"assistant": "<|im_end|><|pad|>"},
    )
    row = talk("of a role without an opening: user", "a", "b")
    lengths = RowLengths(counter, facts)
    assert lengths.length(row, [100, 10, 1]) == (1 + 102 + 12 + 3 + 2, 1 + 102 + 12)


def test_texts_get_what_the_tokenizer_adds():
    lengths = RowLengths(TokenCounter(vocabularies.byte_level()), None, added=1)
    assert lengths.length(parts_of("a"), [5]) == (6, -1)
    pair = parts_of({"prompt": "a", "completion": "b"})
    assert lengths.length(pair, [5, 7]) == (13, 6)


def test_a_preference_is_as_long_as_its_longer_side():
    lengths = RowLengths(TokenCounter(vocabularies.byte_level()), None)
    row = parts_of({"prompt": "a", "chosen": "b", "rejected": "c"})
    assert lengths.length(row, [5, 7, 9]) == (14, 5)


def test_what_is_no_conversation_is_not_rendered():
    tokenizer = vocabularies.byte_level()
    assert rendered_length(tokenizer, parts_of("a")) is None
    refused = talk("a")
    assert rendered_length(vocabularies.byte_level(), refused) is not None


def test_the_size_is_that_of_the_highest_id():
    tokenizer = vocabularies.byte_level()
    tokenizer.add_tokens(["<new>"])
    known = TokenCounter(tokenizer).size()
    assert known == tokenizer.convert_tokens_to_ids("<new>") + 1
    assert TokenCounter(Bare()).size() == 0


class Bare:
    """Tokenises, and tells nothing of its vocabulary."""

    def __call__(self, texts, **_):
        return {"input_ids": [[1]] * len(texts)}
