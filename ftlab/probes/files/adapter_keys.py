"""How the keys of an adapter's file stand to those that the model would read."""

import re
from collections.abc import Collection, Iterable

from ftlab.probes.naming import WRAPPERS

_PEFT = "base_model.model."
_LORA = re.compile(r"(lora_(?:embedding_)?[AB]|lora_magnitude_vector)\.[^.]+\.(weight)")


def why_unread(unread: Iterable[str], wanted: Collection[str]) -> tuple[str, int]:
    """Tell what keeps keys of a file from being read, and for how many of them.

    Parameters
    ----------
    unread
        Keys that are in the file and that the model does not have.
    wanted
        Keys that the model has.

    Returns
    -------
    reason, count
        The commonest one: ``"compiled"`` and ``"parallel"`` where a wrapper's name is
        in the key, ``"adapter-name"`` where the adapter's is, ``"wrapped-twice"`` where
        PEFT's prefix stands there more or less often, ``"other-class"`` where the path
        is longer or shorter at its head (an adapter of a causal model on the bare
        transformer), ``"other-model"`` where nothing fits.

    Examples
    --------
    >>> from ftlab.probes.files.adapter_keys import why_unread
    >>> why_unread(
    ...     ["base_model.model.layers.0._orig_mod.q.a"],
    ...     ["base_model.model.layers.0.q.a"],
    ... )
    ('compiled', 1)
    """
    known = _Known(wanted)
    reasons = [known.reason(key) for key in unread]
    if not reasons:
        return "", 0
    commonest = max(dict.fromkeys(reasons), key=reasons.count)
    return commonest, reasons.count(commonest)


class _Known:
    """The keys of a model, in the forms that others may be like."""

    def __init__(self, wanted: Collection[str]) -> None:
        self._own = {_without_prefix(key) for key in wanted}
        self._bare = {_without_prefix(_without_wrappers(key)) for key in wanted}
        self._tails = {
            ".".join(parts[start:])
            for key in self._bare
            for parts in (key.split("."),)
            for start in range(1, min(len(parts) - 1, 4))
        }

    def reason(self, key: str) -> str:
        """Tell why one key is not read."""
        plain = _without_wrappers(key)
        unnamed = _LORA.sub(r"\1.\2", plain)
        bare = _without_prefix(unnamed)
        fits = bare in self._bare
        if fits and (plain != key or bare not in self._own):
            key = key if plain != key else next(iter(self._own - self._bare), "")
            return "compiled" if "_orig_mod" in key.split(".") else "parallel"
        if fits and unnamed != plain:
            return "adapter-name"
        if fits:
            return "wrapped-twice"
        heads = bare.split(".")
        shorter = (".".join(heads[start:]) for start in range(1, 4))
        if bare in self._tails or any(each in self._bare for each in shorter):
            return "other-class"
        return "other-model"


def _without_wrappers(key: str) -> str:
    return ".".join(part for part in key.split(".") if part not in WRAPPERS)


def _without_prefix(key: str) -> str:
    while key.startswith(_PEFT):
        key = key.removeprefix(_PEFT)
    return key


def why_lost(
    unread: Iterable[str], missing: Iterable[str], *, whole: bool
) -> tuple[str, list[str]]:
    """Tell which of the keys that a load did not read belong to what it left out.

    Parameters
    ----------
    unread
        Keys that were given and that the model does not have.
    missing
        Keys that the model has and that were not given.
    whole
        Whether nothing at all was read: then every key is lost, whatever it is like.

    Returns
    -------
    reason, keys
        The commonest reason and the keys that are lost: ``"compiled"``, ``"parallel"``,
        ``"adapter-name"`` and ``"wrapped-twice"`` as in `why_unread`; where nothing was
        read also ``"prefix"``, where all paths begin otherwise, and ``"other-model"``.

    Examples
    --------
    >>> from ftlab.probes.files.adapter_keys import why_lost
    >>> file, model = "layers.0.q.lora_A.weight", "layers.0.q.lora_A.mine.weight"
    >>> why_lost([file], [model], whole=True)
    ('adapter-name', ['layers.0.q.lora_A.weight'])
    """
    unread, missing = list(unread), list(missing)
    twins = twins_of(unread, missing)
    if twins:
        reasons = [_difference(key, other) for key, other in twins.items()]
        commonest = max(dict.fromkeys(reasons), key=reasons.count)
        return commonest, unread if whole else list(twins)
    if not whole:
        return "", []
    reason, _ = why_unread(map(plain_key, unread), {*map(plain_key, missing)})
    return ("prefix" if reason == "other-class" else "other-model"), unread


def twins_of(unread: Iterable[str], missing: Iterable[str]) -> dict[str, str]:
    """Return keys that differ by wrappers', PEFT's and adapters' names alone.

    Examples
    --------
    >>> from ftlab.probes.files.adapter_keys import twins_of
    >>> twins_of(["q.base_layer.weight", "norm.scale"], ["q.weight", "norm.weight"])
    {'q.base_layer.weight': 'q.weight'}
    """
    wanted = {plain_key(key): key for key in missing}
    return {key: wanted[n] for key in unread if (n := plain_key(key)) in wanted}


def plain_key(key: str) -> str:
    """Write a key without everything that wrappers, PEFT and adapters' names add.

    Examples
    --------
    >>> from ftlab.probes.files.adapter_keys import plain_key
    >>> plain_key("base_model.model._orig_mod.q.lora_A.mine.weight")
    'q.lora_A.weight'
    """
    key = _without_prefix(_LORA.sub(r"\1.\2", _without_wrappers(key)))
    return key.replace(".base_layer.", ".")


def _difference(key: str, other: str) -> str:
    parts = [*key.split("."), *other.split(".")]
    if _without_wrappers(key) != key or _without_wrappers(other) != other:
        return "compiled" if "_orig_mod" in parts else "parallel"
    if _LORA.sub(r"\1.\2", key) == _LORA.sub(r"\1.\2", other):
        return "adapter-name"
    return "wrapped-twice"
