"""Tests do not see what others did to their tokenizers."""

from tests.probes.tokens.vocabularies import byte_level


def test_what_is_done_to_one_stays_with_it():
    one = byte_level()
    one("a b c", truncation=True, max_length=2)
    one.add_tokens(["<new>"])
    other = byte_level()
    assert len(other) == len(one) - 1
    assert one.backend_tokenizer.truncation is not None
    assert other.backend_tokenizer.truncation is None
