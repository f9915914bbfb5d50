"""SentencePiece models and encodings of tiktoken, by themselves or in a tokenizer."""

from typing import Any

Pairs = list[tuple[int, str]]


def is_sentencepiece(core: Any) -> bool:
    """Tell whether this is a ``SentencePieceProcessor``."""
    return hasattr(core, "serialized_model_proto")


def is_tiktoken(core: Any) -> bool:
    """Tell whether this is a ``tiktoken.Encoding``."""
    return hasattr(core, "_mergeable_ranks") and hasattr(core, "_pat_str")


def library_of(core: Any) -> str:
    """Name the library: ``"sentencepiece"``, ``"tiktoken"``, ``""`` for none of them.

    Examples
    --------
    >>> from ftlab.probes.tokenizers.foreign_cores import library_of
    >>> library_of(object())
    ''
    """
    if is_sentencepiece(core):
        return "sentencepiece"
    return "tiktoken" if is_tiktoken(core) else ""


def settings_of(core: Any) -> dict[str, Any]:
    """Return what is set beside the pieces; SentencePiece has it in its model."""
    return {"pattern": core._pat_str} if is_tiktoken(core) else {}  # noqa: SLF001  no accessor


def special_of(core: Any) -> dict[str, Any]:
    """Return the tokens beside the pieces by id; SentencePiece has them as pieces."""
    if is_tiktoken(core):
        special = core._special_tokens.items()  # noqa: SLF001  no accessor
        return {str(at): [name] for name, at in sorted(special, key=lambda e: e[1])}
    control = filter(core.is_control, range(core.get_piece_size()))
    return {str(at): [core.id_to_piece(at)] for at in control}


def unknown_of(core: Any) -> frozenset[int]:
    """Return the id that stands for what is not in the vocabulary, if there is one."""
    if is_tiktoken(core) or core.unk_id() < 0:
        return frozenset()
    return frozenset([core.unk_id()])


def model_of(core: Any) -> bytes:
    """Return the whole model, ``b""`` of something else."""
    if is_sentencepiece(core):
        return bytes(core.serialized_model_proto())
    if is_tiktoken(core):
        ranks = core._mergeable_ranks  # noqa: SLF001  no accessor
        return repr(sorted(ranks.items(), key=lambda each: each[1])).encode()
    return b""


def pairs_of(core: Any, shift: int = 0) -> Pairs:
    """Return ids and pieces; bytes of tiktoken as the characters of Latin-1."""
    if is_tiktoken(core):
        ranks = core._mergeable_ranks.items()  # noqa: SLF001  no accessor
        pairs = [(at + shift, as_text(piece)) for piece, at in ranks]
        return pairs + [(at, name) for name, at in core._special_tokens.items()]  # noqa: SLF001  as above
    return [(at, core.id_to_piece(at)) for at in range(core.get_piece_size())]


def as_text(piece: str | bytes) -> str:
    """Return a piece as text; of bytes each stands for the character of its number."""
    return piece.decode("latin-1") if isinstance(piece, bytes) else str(piece)


def size_of(core: Any) -> int:
    """Return how many ids there are."""
    return int(core.n_vocab if is_tiktoken(core) else core.get_piece_size())


def ids_of(core: Any, text: str) -> list[int]:
    """Return the ids of a text; special tokens within it are common text."""
    if is_tiktoken(core):
        return list(core.encode(text, disallowed_special=()))
    return list(core.encode(text))


def core_within(tokenizer: Any) -> Any:
    """Return what another library does in a tokenizer; itself if it is all its own.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ftlab.probes.tokenizers.foreign_cores import core_within
    >>> model = SimpleNamespace(serialized_model_proto=bytes)
    >>> core_within(SimpleNamespace(sp_model=model)) is model
    True
    """
    held = getattr(tokenizer, "__dict__", None)
    within = list(held.values()) if isinstance(held, dict) else []
    return next((each for each in within if library_of(each)), tokenizer)
