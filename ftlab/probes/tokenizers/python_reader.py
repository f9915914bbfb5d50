"""Reads tokenizers that are written in Python, with what they hold of other libraries.

The code of a tokenizer is told by its class; what it does with a text is told by that
and by the model of SentencePiece, the encoding of tiktoken or the merges that it holds.
"""

from typing import Any

from ftlab.probes.tokenizers.foreign_cores import (
    Pairs,
    as_text,
    ids_of,
    is_tiktoken,
    library_of,
    model_of,
    pairs_of,
    settings_of,
    size_of,
    special_of,
    unknown_of,
)
from ftlab.probes.tokenizers.reader import Read, Reader
from ftlab.probes.tokenizers.text_spans import Spans


class PythonReader(Reader):
    """Its core is of SentencePiece or tiktoken, or the tokenizer itself.

    Examples
    --------
    >>> from ftlab.probes.tokenizers.python_reader import PythonReader
    >>> class Letters:
    ...     def get_vocab(self):
    ...         return {"a": 0, "b": 1}
    >>> letters = Letters()
    >>> PythonReader(letters, letters).vocabulary()
    [(0, 'a'), (1, 'b')]
    """

    @property
    def backend(self) -> str:
        """What turns text into ids."""
        return library_of(self.core) or "python"

    @property
    def writing(self) -> str:
        """How the vocabulary writes bytes."""
        if isinstance(next(iter(self.tokenizer.get_vocab()), ""), bytes):
            return "latin-1"
        return "byte-level" if hasattr(self.tokenizer, "byte_decoder") else "text"

    def model(self) -> Read:
        """Return the class whose code it is, and what splits words."""
        return {"type": type(self.tokenizer).__qualname__} | settings_of(self.core)

    def vocabulary(self) -> Pairs:
        """Return all ids with their pieces, added ones too."""
        vocabulary = self.tokenizer.get_vocab().items()
        return [(at, as_text(piece)) for piece, at in vocabulary]

    def merges(self) -> bytes:
        """Return the model of another library, or merges under their usual name."""
        ranks = getattr(self.tokenizer, "bpe_ranks", None)
        if isinstance(ranks, dict):
            return repr(sorted(ranks.items(), key=lambda each: each[1])).encode()
        return model_of(self.core)

    def pieces(self, ids: list[int]) -> list[Any]:
        """Return some of the vocabulary, and what it says of them the other way."""
        found = super().pieces(ids)
        return [*found, *self.tokenizer.convert_tokens_to_ids(found)]

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text, without the warning that encoding it may give."""
        ids, _ = self.encoded(text)
        around = getattr(self.tokenizer, "build_inputs_with_special_tokens", list)
        return list(around(ids))


class BareReader(Reader):
    """A SentencePiece model or an encoding of tiktoken by itself.

    Examples
    --------
    >>> import tiktoken
    >>> from ftlab.probes.tokenizers.python_reader import BareReader
    >>> ranks = {bytes([each]): each for each in range(256)}
    >>> made = tiktoken.Encoding(
    ...     "own",
    ...     pat_str="[^ ]+| +",
    ...     mergeable_ranks=ranks,
    ...     special_tokens={"<e>": 256},
    ... )
    >>> reader = BareReader(made, made)
    >>> reader.backend, reader.size(), reader.ids("a <e>")
    ('tiktoken', 257, [97, 32, 60, 101, 62])
    """

    @property
    def backend(self) -> str:
        """What turns text into ids."""
        return library_of(self.core)

    @property
    def writing(self) -> str:
        """How the vocabulary writes bytes."""
        return "latin-1" if is_tiktoken(self.core) else "text"

    def model(self) -> Read:
        """Return what splits words."""
        return settings_of(self.core)

    def vocabulary(self) -> Pairs:
        """Return all ids with their pieces."""
        return pairs_of(self.core)

    def merges(self) -> bytes:
        """Return the whole model."""
        return model_of(self.core)

    def size(self) -> int:
        """Return how many ids there are."""
        return size_of(self.core)

    def pieces(self, ids: list[int]) -> list[Any]:
        """Return some of the vocabulary."""
        return [self.core.decode([each]) for each in ids]

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text, around which these put nothing."""
        return ids_of(self.core, text)

    def encoded(self, text: str) -> tuple[list[int], Spans | None]:
        """Return the ids of a text."""
        return ids_of(self.core, text), None

    def decoded(self, ids: list[int]) -> str:
        """Return the text of ids."""
        return str(self.core.decode(ids))

    def unknown(self) -> frozenset[int]:
        """Return the ids that stand for whatever is not in the vocabulary."""
        return unknown_of(self.core)

    def added_tokens(self) -> Read:
        """Return the tokens beside the pieces by id."""
        return special_of(self.core)
