"""What every tokenizer is asked, whatever does the work in it."""

from collections.abc import Callable, Mapping
from typing import Any

from ftlab.probes.plain import jsonable, readable
from ftlab.probes.tokenizers.foreign_cores import Pairs
from ftlab.probes.tokenizers.text_spans import Spans
from ftlab.probes.tokens.pieces import special_ids

Read = dict[str, Any]

_SIDES = ("padding_side", "truncation_side", "pad_token_type_id", "model_max_length")
_SWITCHES = (
    "add_bos_token",
    "add_eos_token",
    "add_prefix_space",
    "clean_up_tokenization_spaces",
    "do_lower_case",
    "keep_accents",
    "legacy",
    "model_input_names",
    "remove_space",
    "split_special_tokens",
    "strip_accents",
    "tokenize_chinese_chars",
)
UNLIMITED = 10**12
"""A ``model_max_length`` above it stands for no limit; transformers writes 1e30."""


class Reader:
    """Reads a tokenizer; each kind of back end has its own.

    Parameters
    ----------
    tokenizer
        What the user has.
    core
        What does the work in it.
    """

    def __init__(self, tokenizer: Any, core: Any) -> None:
        self.tokenizer = tokenizer
        self.core = core

    @property
    def backend(self) -> str:
        """What turns text into ids: ``"tokenizers"``, ``"python"`` or a library."""
        raise NotImplementedError

    @property
    def writing(self) -> str:
        """How the vocabulary writes bytes.

        ``"byte-level"``, a character for each byte, as of GPT-2; ``"latin-1"``, what
        `foreign_cores.pairs_of` makes of bytes; ``"text"`` for all others.
        """
        return "text"

    def small(self) -> Read:
        """Return the parts that are read in next to no time; absent: not readable."""
        readers = {
            "model": self.model,
            "special tokens": self._special_tokens,
            "added tokens": self.added_tokens,
            "chat template": self._template,
            "padding and truncation": self._sides,
            "switches": self._switches,
        }
        found = readable(**readers)
        return {name: each for name, each in found.items() if each} | self.pipeline()

    def pipeline(self) -> Read:
        """Return normaliser, pre-tokeniser, decoder, post-processor, if it has them."""
        return {}

    def model(self) -> Read:
        """Return the settings of what splits words into pieces."""
        raise NotImplementedError

    def vocabulary(self) -> Pairs:
        """Return all ids with their pieces, as the vocabulary writes them."""
        raise NotImplementedError

    def merges(self) -> bytes:
        """Return what, beside the vocabulary, decides on pieces; ``b""`` for nothing.

        Merges, scores, or a model that is not opened here.
        """
        return b""

    def size(self) -> int:
        """Return how many ids there are."""
        return len(self.tokenizer)

    def pieces(self, ids: list[int]) -> list[Any]:
        """Return some of the vocabulary."""
        return list(self.tokenizer.convert_ids_to_tokens(ids))

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text, with those that are put around it."""
        return list(self.tokenizer.encode(text))

    def ids_as_left(self, text: str) -> tuple[str, list[int]]:
        """Return the ids without touching the tokenizer, and what cuts or pads them.

        Another thread may be about to call it.
        """
        return "", self.ids(text)

    def word_ids(self, word: str) -> list[int]:
        """Return a short text's ids without touching the tokenizer, or padding them.

        Empty where a last call's limit cuts it.
        """
        return self.ids(word)

    def encoded(self, text: str) -> tuple[list[int], Spans | None]:
        """Return the ids of a text by itself, and their characters if it tells them."""
        tokens = self.tokenizer.tokenize(text)
        return list(self.tokenizer.convert_tokens_to_ids(tokens)), None

    def decoded(self, ids: list[int]) -> str:
        """Return the text of ids, as its settings have it."""
        return str(self.tokenizer.decode(ids))

    def unknown(self) -> frozenset[int]:
        """Return the ids that stand for whatever is not in the vocabulary."""
        return special_ids(self.tokenizer).get("unk", frozenset())

    def added_tokens(self) -> Read:
        """Return the added tokens by id, with their flags."""
        return flags_of(self.tokenizer.added_tokens_decoder)

    def _special_tokens(self) -> Read:
        named = dict(self.tokenizer.special_tokens_map)
        extra = named.pop("additional_special_tokens", None)
        extra = extra or getattr(self.tokenizer, "extra_special_tokens", ())
        found: Read = {name: _written(each) for name, each in named.items()}
        for name, ids in special_ids(self.tokenizer).items():
            found[f"{name}_token_id"] = min(ids) if len(ids) == 1 else sorted(ids)
        return found | ({"extra": list(map(str, extra))} if extra else {})

    def _template(self) -> Read:
        template = jsonable(self.tokenizer.chat_template)
        if not isinstance(template, Mapping):
            template = {"default": template}
        return {name: each for name, each in template.items() if each is not None}

    def _sides(self) -> Read:
        found = self._attributes(_SIDES)
        if (found.get("model_max_length") or 0) > UNLIMITED:
            found["model_max_length"] = None
        return found

    def _switches(self) -> Read:
        return self._attributes(_SWITCHES)

    def _attributes(self, names: tuple[str, ...]) -> Read:
        found = readable(**{name: self._reader(name) for name in names})
        return {name: each for name, each in found.items() if each is not None}

    def _reader(self, name: str) -> Callable[[], Any]:
        return lambda: jsonable(getattr(self.tokenizer, name))


def _written(token: Any) -> Any:
    return list(map(str, token)) if isinstance(token, list | tuple) else str(token)


def flags_of(added: Mapping[int, Any]) -> Read:
    """Return added tokens by id: each a list of its text and the flags it has."""
    return {str(at): _flags(added[at]) for at in sorted(added)}


def _flags(token: Any) -> list[str]:
    names = ("special", "single_word", "lstrip", "rstrip", "normalized")
    return [str(token), *(name for name in names if getattr(token, name, False))]
