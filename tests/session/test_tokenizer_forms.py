"""One vocabulary in several forms: what must agree does, what differs is named.

Of transformers 5 a tokenizer is slow that SentencePiece or mistral-common does the work
of; `LlamaTokenizer` is fast. Pieces of tekken are of tiktoken.
"""

import pytest

import ftlab
from tests.probes.tokenizers.real import TEKKEN, fast_form, mistral, slow_form
from tests.probes.tokens.vocabularies import LINES
from tests.versions import older_than

tiktoken = pytest.importorskip("tiktoken")
pytestmark = pytest.mark.skipif(
    older_than("transformers", "5"), reason="this one has no back ends"
)

SPACED = [" leading", "Hello  there </s> x"]
PIECES = 4000
"""Ranks of tekken that a small form of it has: any first ones are a whole BPE."""


def differing(diff):
    one, two = diff.diff.prints
    return set(one.differing(two))


def test_two_slow_forms_of_sentencepiece_give_the_same_ids():
    diff = ftlab.tokenizer_diff(mistral(), slow_form(), LINES + SPACED)
    assert diff.diff.equal == len(LINES) + len(SPACED)
    assert differing(diff) == {
        "model",  # the classes' code
        "special tokens",
        "added tokens",
        "padding and truncation",
        "switches",
    }
    assert "puts <s> before" in repr(diff)


def test_slow_and_fast_differ_where_text_begins_with_a_space_and_behind_marks():
    diff = ftlab.tokenizer_diff(slow_form(), fast_form(), LINES + SPACED)
    assert diff.diff.equal == len(LINES)
    assert diff.diff.moved.count == 0
    assert "vocabulary" not in differing(diff)
    first, second = diff.diff.differences
    assert (first.left.piece, first.right.piece) == (" ", " leading")
    assert (second.left.piece, second.right.piece) == (" </", " ")
    assert {"merges", "pre-tokeniser", "decoder"} <= differing(diff)


def small_tekken() -> tiktoken.Encoding:
    whole = mistral(TEKKEN).tokenizer.instruct_tokenizer.tokenizer._model
    ranked = sorted(whole._mergeable_ranks.items(), key=lambda each: each[1])
    return tiktoken.Encoding(
        "small",
        pat_str=whole._pat_str,
        mergeable_ranks=dict(ranked[:PIECES]),
        special_tokens={},
    )


def converted(encoding: tiktoken.Encoding):
    """Return the fast form that transformers makes of an encoding."""
    from transformers.convert_slow_tokenizer import TikTokenConverter

    class Given(TikTokenConverter):
        @staticmethod
        def load_tiktoken_bpe(_):
            return encoding._mergeable_ranks

    return Given(vocab_file="", pattern=encoding._pat_str).converted()


def test_tekken_gives_the_same_ids_in_its_fast_form():
    slow = small_tekken()
    diff = ftlab.tokenizer_diff(slow, converted(slow), LINES + SPACED)
    assert diff.diff.equal == len(LINES) + len(SPACED)
    assert diff.diff.moved.count == diff.diff.moved.left_only == 0
    assert diff.diff.moved.right_only == 0
    assert differing(diff) == {
        "vocabulary",  # bytes are written as other characters
        "merges",
        "model",
        "pre-tokeniser",
        "decoder",
        "post-processor",
        "padding and truncation",
    }


def test_a_form_that_is_cut_by_another_pattern_is_told():
    slow = small_tekken()
    fast = converted(slow)
    fast.pre_tokenizer = type(fast.pre_tokenizer)([fast.pre_tokenizer[1]])
    diff = ftlab.tokenizer_diff(slow, fast, LINES + SPACED)
    assert diff.diff.equal < len(LINES) + len(SPACED)
    assert diff.diff.moved.count == 0
