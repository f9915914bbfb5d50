"""Tokenizers as they are used: those of mistral-common, in several forms."""

import functools
import shutil
import tempfile
from pathlib import Path

import pytest

SENTENCEPIECE = "mistral_instruct_tokenizer_240323.model.v3"
TEKKEN = "tekken_240911.json"


def file_of(name: str) -> Path:
    """Return the path of a file that ships in mistral-common."""
    mistral_common = pytest.importorskip("mistral_common")
    return Path(mistral_common.__file__).parent / "data" / name


@functools.cache
def mistral(name: str = SENTENCEPIECE):
    """Return a tokenizer that mistral-common does the work of."""
    pytest.importorskip("transformers.tokenization_mistral_common")
    from transformers.tokenization_mistral_common import MistralCommonBackend

    return MistralCommonBackend(tokenizer_path=file_of(name))


def slow_form(**settings):
    """Return a SentencePiece model in a tokenizer that is written in Python."""
    module = pytest.importorskip("transformers.tokenization_utils_sentencepiece")
    return module.SentencePieceBackend(
        vocab_file=str(file_of(SENTENCEPIECE)), **settings
    )


@functools.cache
def fast_form():
    """Return the same model, converted for the library ``tokenizers``."""
    from transformers import LlamaTokenizerFast

    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(file_of(SENTENCEPIECE), f"{folder}/tokenizer.model")
        return LlamaTokenizerFast.from_pretrained(folder, legacy=False)
