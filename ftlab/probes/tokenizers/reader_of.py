"""Finds what reads a tokenizer, by what does the work in it."""

from typing import Any

from ftlab.probes.tokenizers.fast_reader import FastReader
from ftlab.probes.tokenizers.foreign_cores import core_within, library_of
from ftlab.probes.tokenizers.mistral_reader import MistralReader
from ftlab.probes.tokenizers.python_reader import BareReader, PythonReader
from ftlab.probes.tokenizers.reader import Reader
from ftlab.probes.tokens.pieces import text_tokenizer


def reader_of(given: Any) -> Reader | None:
    """Find what reads a tokenizer, ``None`` for what is none.

    Parameters
    ----------
    given
        A tokenizer of transformers, fast or slow, of SentencePiece or mistral-common;
        a processor that holds one; or bare, a ``tokenizers.Tokenizer``, a
        ``SentencePieceProcessor``, a ``tiktoken.Encoding``, a ``MistralTokenizer``.

    Examples
    --------
    >>> from ftlab.probes.tokenizers.reader_of import reader_of
    >>> reader_of("gpt2") is None
    True
    """
    try:
        return _found(given)
    except Exception:  # noqa: BLE001  an object that raises on what it does not know
        return None


def _found(given: Any) -> Reader | None:
    mistral = _mistral_core(given)
    if mistral is not None:
        return MistralReader(given, mistral)
    if hasattr(given, "get_added_tokens_decoder"):
        return FastReader(given, given)
    if library_of(given):
        return BareReader(given, given)
    inner = text_tokenizer(given)
    if inner is not given and (held := _found(inner)) is not None:
        return held
    fast = getattr(inner, "backend_tokenizer", None)
    if hasattr(fast, "get_added_tokens_decoder"):
        return FastReader(inner, fast)
    if callable(getattr(inner, "get_vocab", None)):
        return PythonReader(inner, core_within(inner))
    return None


def _mistral_core(given: Any) -> Any:
    """Return the tokenizer that mistral-common has in a wrapper, or in two."""
    for each in (getattr(given, "tokenizer", None), given):
        core = getattr(getattr(each, "instruct_tokenizer", None), "tokenizer", None)
        if hasattr(core, "n_words"):
            return core
    return None
