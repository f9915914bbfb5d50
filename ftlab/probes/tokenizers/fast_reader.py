"""Reads tokenizers of the ``tokenizers`` library, in a transformers one or bare."""

import json
from functools import partial
from typing import Any

from ftlab.probes.plain import readable
from ftlab.probes.tokenizers.foreign_cores import Pairs
from ftlab.probes.tokenizers.reader import Read, Reader, flags_of
from ftlab.probes.tokenizers.text_spans import Spans
from ftlab.probes.tokens.template_survey import left_as_it_was

_STAGES = {
    "normaliser": "normalizer",
    "pre-tokeniser": "pre_tokenizer",
    "decoder": "decoder",
    "post-processor": "post_processor",
}
_VOCABULARY, _MERGES = b'"vocab":', b'"merges":'
"""In JSON neither can be part of a string: its quotes would be escaped."""


class FastReader(Reader):
    """A vocabulary of 131,000 is read in 0.6 s, its merges included.

    What a call leaves behind, its padding and truncation, is read of a bare tokenizer
    only: transformers sets both anew in every call.

    Examples
    --------
    >>> from tokenizers import Tokenizer, models, normalizers
    >>> from ftlab.probes.tokenizers.fast_reader import FastReader
    >>> bare = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    >>> bare.normalizer = normalizers.NFC()
    >>> FastReader(bare, bare).pipeline()
    {'normaliser': {'type': 'NFC'}}
    """

    @property
    def backend(self) -> str:
        """What turns text into ids."""
        return "tokenizers"

    @property
    def bare(self) -> bool:
        """Whether no transformers tokenizer is around it."""
        return self.tokenizer is self.core

    @property
    def writing(self) -> str:
        """How the vocabulary writes bytes."""
        stages = json.dumps(self.pipeline())
        return "byte-level" if '"ByteLevel"' in stages else "text"

    def small(self) -> Read:
        """Return the parts that are read in next to no time."""
        found = super().small()
        if self.bare:
            sides = {"padding": self.core.padding, "truncation": self.core.truncation}
            found["padding and truncation"] = sides
        return found

    def pipeline(self) -> Read:
        """Return the stages that it has, as tokenizer.json would write them."""
        return {
            name: json.loads(stage.__getstate__())
            for name, attribute in _STAGES.items()
            if (stage := getattr(self.core, attribute)) is not None
        }

    def model(self) -> Read:
        """Return the model's settings."""
        model = self.core.model
        names = (
            "dropout",
            "unk_token",
            "unk_id",
            "continuing_subword_prefix",
            "end_of_word_suffix",
            "fuse_unk",
            "byte_fallback",
            "ignore_merges",
            "max_input_chars_per_word",
        )
        readers = {name: partial(getattr, model, name) for name in names}
        return {"type": type(model).__name__} | readable(**readers)

    def vocabulary(self) -> Pairs:
        """Return all pieces with their ids, added ones too."""
        vocabulary = self.core.get_vocab(with_added_tokens=True)
        return [(at, piece) for piece, at in vocabulary.items()]

    def merges(self) -> bytes:
        """Return merges or scores, as tokenizer.json would write them."""
        state: bytes = self.core.model.__getstate__()
        _, found, merges = state.partition(_MERGES)
        if found:
            return merges
        _, found, rest = state.partition(_VOCABULARY)
        return rest if rest.startswith(b"[") else b""

    def size(self) -> int:
        """Return how many ids there are."""
        return int(self.core.get_vocab_size(with_added_tokens=True))

    def pieces(self, ids: list[int]) -> list[Any]:
        """Return some of the vocabulary."""
        return [self.core.id_to_token(each) for each in ids]

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text, whatever the last call has left behind."""
        return list(self._encode(text, around=True).ids)

    def ids_as_left(self, text: str) -> tuple[str, list[int]]:
        """Return the ids as the last call has left it to cut and pad them."""
        left = repr((self.core.truncation, self.core.padding))
        return left, list(self.core.encode(text).ids)

    def word_ids(self, word: str) -> list[int]:
        """Return a short text's ids; empty where a last call's limit cuts it."""
        found = self.core.encode(word)
        if found.overflowing:
            return []
        shown = zip(found.ids, found.attention_mask, strict=True)
        return [each for each, is_text in shown if is_text]

    def encoded(self, text: str) -> tuple[list[int], Spans | None]:
        """Return the ids of a text by itself, and their characters."""
        found = self._encode(text, around=False)
        return list(found.ids), list(found.offsets)

    def decoded(self, ids: list[int]) -> str:
        """Return the text of ids, special tokens within it too."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=False))

    def unknown(self) -> frozenset[int]:
        """Return the ids that stand for whatever is not in the vocabulary."""
        named = getattr(self.core.model, "unk_token", None)
        at = self.core.token_to_id(named) if named else None
        number = getattr(self.core.model, "unk_id", None) if at is None else at
        return frozenset() if number is None else frozenset([number])

    def _encode(self, text: str, *, around: bool) -> Any:
        if self.bare:
            return self.core.encode(text, add_special_tokens=around)
        with left_as_it_was(self.tokenizer):
            self.core.no_truncation()
            self.core.no_padding()
            return self.core.encode(text, add_special_tokens=around)

    def added_tokens(self) -> Read:
        """Return the added tokens by id, with their flags."""
        return flags_of(self.core.get_added_tokens_decoder())
