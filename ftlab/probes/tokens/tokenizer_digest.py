"""What tells two tokenizers apart: a digest of all that turns text into ids."""

import hashlib
import json
from typing import Any

from ftlab.probes.plain import jsonable, readable

_ATTRIBUTES = (
    "special_tokens_map",
    "chat_template",
    "padding_side",
    "truncation_side",
    "model_max_length",
    "add_bos_token",
    "add_eos_token",
)


def tokenizer_digest(tokenizer: Any) -> str:
    """Return a SHA-256 of vocabulary, merges, special tokens and chat template.

    What a call leaves behind in a fast tokenizer, its last padding and truncation, is
    no part of it.

    Returns
    -------
    str
        64 hexadecimal digits; ``""`` for no tokenizer.

    Examples
    --------
    >>> from ftlab.probes.tokens.tokenizer_digest import tokenizer_digest
    >>> class Letters:
    ...     def get_vocab(self):
    ...         return {"a": 0, "b": 1}
    >>> tokenizer_digest(Letters())[:12]
    'fd3caae3baad'
    >>> tokenizer_digest(None)
    ''
    """
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    if inner is None:
        return ""
    parts = readable(
        vocabulary=lambda: sorted(inner.get_vocab().items()),
        backend=lambda: _backend(inner),
        **{name: _reader(inner, name) for name in _ATTRIBUTES},
    )
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


class TokenizerWatch:
    """The digest of one tokenizer, computed anew only where it may have changed.

    A digest reads the whole vocabulary, 0.4 s of 128,000 entries. Tokens that
    are added, another template and other settings show in what is read at once; entries
    that are exchanged in place do not.

    Parameters
    ----------
    tokenizer
        Or a processor that has one.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._seen: Any = None
        self._digest = ""

    def __call__(self) -> str:
        """Return the digest."""
        inner = getattr(self._tokenizer, "tokenizer", self._tokenizer)
        seen = readable(
            size=lambda: len(inner),
            backend=lambda: id(inner._tokenizer),  # noqa: SLF001  the same object
            **{name: _reader(inner, name) for name in _ATTRIBUTES},
        )
        if seen != self._seen:
            self._seen, self._digest = seen, tokenizer_digest(self._tokenizer)
        return self._digest


def _backend(tokenizer: Any) -> Any:
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    return {k: v for k, v in parts.items() if k not in ("padding", "truncation")}


def _reader(tokenizer: Any, name: str) -> Any:
    return lambda: jsonable(getattr(tokenizer, name))
