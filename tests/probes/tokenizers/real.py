"""Tokenizers as they are used: those of mistral-common, in several forms."""

import functools
import importlib
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizer

from tests.versions import older_than

SENTENCEPIECE = "mistral_instruct_tokenizer_240323.model.v3"
TEKKEN = "tekken_240911.json"


def file_of(name: str) -> Path:
    """Return the path of a file that ships in mistral-common."""
    mistral_common = pytest.importorskip("mistral_common")
    return Path(mistral_common.__file__).parent / "data" / name


@functools.cache
def mistral(name: str = SENTENCEPIECE):
    """Return a tokenizer that mistral-common does the work of."""
    if older_than("transformers", "5"):
        pytest.skip("this one has no back ends")
    from transformers.tokenization_mistral_common import MistralCommonBackend

    return MistralCommonBackend(tokenizer_path=file_of(name))


def slow_form():
    """Return a SentencePiece model in a tokenizer that is written in Python."""
    if older_than("transformers", "5"):
        pytest.skip("this one has no back ends")
    module = importlib.import_module("transformers.tokenization_utils_sentencepiece")
    return module.SentencePieceBackend(vocab_file=str(file_of(SENTENCEPIECE)))


@functools.cache
def fast_form(**settings):
    """Return the same model, converted for the library ``tokenizers``."""
    if older_than("transformers", "5"):
        pytest.skip("this one is not made of pieces and merges")
    from transformers import LlamaTokenizerFast
    from transformers.tokenization_utils_base import generate_merges

    model = mistral().tokenizer.instruct_tokenizer.tokenizer._model
    pieces = {model.id_to_piece(at): at for at in range(model.get_piece_size())}
    scores = {piece: model.get_score(at) for piece, at in pieces.items()}
    merges = generate_merges(pieces, scores)
    return LlamaTokenizerFast(vocab=pieces, merges=merges, legacy=False, **settings)


class HoldsTiktoken(PreTrainedTokenizer):
    """A tokenizer in Python around tiktoken, whose vocabulary is of bytes."""

    def __init__(self, **kwargs):
        encoding = mistral(TEKKEN).tokenizer.instruct_tokenizer.tokenizer._model
        self.tokenizer = encoding
        super().__init__(**kwargs)

    @property
    def vocab_size(self):
        return self.tokenizer.n_vocab

    def get_vocab(self):
        return dict(self.tokenizer._mergeable_ranks)

    def tokenize(self, text, **kwargs):
        ids = self.tokenizer.encode(text)
        return [self.tokenizer.decode_single_token_bytes(each) for each in ids]

    def _convert_token_to_id(self, token):
        return self.tokenizer._mergeable_ranks[token]

    def _convert_id_to_token(self, index):
        return self.tokenizer.decode_single_token_bytes(index)

    def convert_tokens_to_ids(self, tokens):
        return [self._convert_token_to_id(each) for each in tokens]

    def convert_tokens_to_string(self, tokens):
        return b"".join(tokens).decode("utf-8", "replace")
