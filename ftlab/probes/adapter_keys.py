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
    >>> from ftlab.probes.adapter_keys import why_unread
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
