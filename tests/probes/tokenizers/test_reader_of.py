"""The reader of each kind of tokenizer is found."""

from types import SimpleNamespace

import pytest

from ftlab.probes.tokenizers.reader_of import reader_of
from tests.probes.tokenizers.real import (
    TEKKEN,
    HoldsTiktoken,
    fast_form,
    mistral,
    slow_form,
)
from tests.probes.tokens.vocabularies import byte_level, slow


def bare(name: str):
    return mistral(name).tokenizer.instruct_tokenizer.tokenizer._model


@pytest.mark.parametrize(
    ("make", "backend", "reader"),
    [
        (byte_level, "tokenizers", "FastReader"),
        (lambda: byte_level().backend_tokenizer, "tokenizers", "FastReader"),
        (fast_form, "tokenizers", "FastReader"),
        (slow, "python", "PythonReader"),
        (slow_form, "sentencepiece", "PythonReader"),
        (HoldsTiktoken, "tiktoken", "PythonReader"),
        (mistral, "mistral-common", "MistralReader"),
        (lambda: mistral().tokenizer, "mistral-common", "MistralReader"),
        (lambda: bare(TEKKEN), "tiktoken", "BareReader"),
        (lambda: bare("tokenizer.model.v1"), "sentencepiece", "BareReader"),
    ],
)
def test_it_is_that_of_what_does_the_work(make, backend, reader):
    given = make()
    found = reader_of(given)
    assert (found.backend, type(found).__name__) == (backend, reader)
    held = reader_of(SimpleNamespace(tokenizer=given))
    assert (held.backend, type(held).__name__) == (backend, reader)
    assert found.size() == len(found.vocabulary())
    assert len(found.pieces([3, 4])) >= 2


class Refusing:
    """Raises on every attribute that it does not know."""

    def __getattr__(self, name):
        raise RuntimeError(name)


@pytest.mark.parametrize("given", [None, "gpt2", 3, object()])
def test_what_is_no_tokenizer_has_none(given):
    assert reader_of(given) is None


def test_an_object_that_raises_on_what_it_does_not_know_has_none():
    assert reader_of(Refusing()) is None
