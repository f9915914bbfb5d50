"""Reads tokenizers of mistral-common, in a transformers one or bare.

They write a conversation by code, which their version tells apart; there is no chat
template.
"""

from typing import Any

from ftlab.probes.tokenizers.foreign_cores import (
    Pairs,
    is_tiktoken,
    model_of,
    pairs_of,
    settings_of,
    unknown_of,
)
from ftlab.probes.tokenizers.reader import Read, Reader
from ftlab.probes.tokenizers.text_spans import Spans


class MistralReader(Reader):
    """Its core is the ``Tekkenizer`` or ``SentencePieceTokenizer`` within."""

    @property
    def backend(self) -> str:
        """What turns text into ids."""
        return "mistral-common"

    @property
    def _inner(self) -> Any:
        return self.core._model  # noqa: SLF001  the library's own; no accessor

    @property
    def writing(self) -> str:
        """How the vocabulary writes bytes."""
        return "latin-1" if is_tiktoken(self._inner) else "text"

    def model(self) -> Read:
        """Return kind and version, which decide on how a conversation is written."""
        told = {"type": type(self.core).__name__, "version": str(self.core.version)}
        mode = getattr(self.tokenizer, "mode", None)
        mode = {"mode": str(getattr(mode, "value", mode))} if mode is not None else {}
        return told | mode | settings_of(self._inner)

    def vocabulary(self) -> Pairs:
        """Return all ids with their pieces, special ones too."""
        if not is_tiktoken(self._inner):
            return pairs_of(self._inner)
        count = self.core.num_special_tokens
        special = [(at, str(self.core.id_to_piece(at))) for at in range(count)]
        return special + pairs_of(self._inner, count)

    def merges(self) -> bytes:
        """Return the model of the library that it uses."""
        return model_of(self._inner)

    def size(self) -> int:
        """Return how many ids there are."""
        return int(self.core.n_words)

    def pieces(self, ids: list[int]) -> list[Any]:
        """Return some of the vocabulary."""
        return [self.core.id_to_piece(each) for each in ids]

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text; behind BOS, where nothing else is asked of it."""
        if hasattr(self.tokenizer, "encode"):
            return list(self.tokenizer.encode(text))
        return list(self.core.encode(text, bos=True, eos=False))

    def encoded(self, text: str) -> tuple[list[int], Spans | None]:
        """Return the ids of a text by itself."""
        return list(self.core.encode(text, bos=False, eos=False)), None

    def decoded(self, ids: list[int]) -> str:
        """Return the text of ids; a transformers one would write the pieces instead."""
        return str(self.core.decode(ids))

    def unknown(self) -> frozenset[int]:
        """Return the ids that stand for whatever is not in the vocabulary."""
        return unknown_of(self._inner)

    def added_tokens(self) -> Read:
        """Return the special tokens by id: it has no others of its own."""
        ids = sorted(self.core.special_ids)
        return {str(at): [str(self.core.id_to_piece(at)), "special"] for at in ids}
