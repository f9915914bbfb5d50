"""Attempts to freeze or thaw that reach less, or more, than they name.

Only ``requires_grad`` of a tensor, and ``requires_grad_`` of a module, decide what
learns. Any other attribute is stored and never read; and a text such as ``layers.1`` is
found in the names of other blocks as well.
"""

import difflib
from collections.abc import Iterator
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import bounded
from ftlab.probes.model.block_numbers import blocks_by_digits
from ftlab.probes.naming import clean_name, roles_of

WRITTEN = "requires_grad"
"""The attribute of a tensor that decides."""

NEAR = 0.85
"""Likeness from which on a name is a misspelling: ``required_grad`` has 0.92."""

CONTRADICTED = 0.9
"""Share of a module's elements that must do the opposite of what its attribute says.

Some parameters are frozen by the model itself, such as positions that are computed.
"""

_LIBRARIES = frozenset({"torch", "transformers", "peft", "torchvision", "timm"})
"""Whose modules have no such attribute of their own."""

_KERAS = "trainable"


def freezing_facts(model: torch.nn.Module) -> dict[str, Any]:
    """Describe what was frozen or thawed otherwise than it was written.

    Returns
    -------
    dict
        ``attributes``, each with its ``place`` (a module or a parameter), the
        ``attribute`` and its ``value``, whether a class's ``own`` code sets it, and the
        parameters that do the opposite; ``numbered``, see `blocks_by_digits`.
    """
    found = {
        "attributes": [*_on_modules(model), *_on_parameters(model)],
        "numbered": blocks_by_digits(model),
    }
    return {what: entries for what, entries in found.items() if entries}


def _on_modules(model: torch.nn.Module) -> Iterator[dict[str, Any]]:
    marked = [
        (path, module, *mark)
        for path, module in model.named_modules()
        for mark in _marks(vars(module), exact=True)
    ]
    added = roles_of(model) if marked else {}
    for path, module, attribute, value in marked:
        base = [
            (f"{path}.{name}" if path else name, parameter)
            for name, parameter in module.named_parameters()
            if getattr(added.get(id(parameter)), "adapter", "") == ""
        ]
        against = [(n, p) for n, p in base if p.requires_grad is not value]
        whole = sum(parameter.numel() for _, parameter in base)
        elements = sum(parameter.numel() for _, parameter in against)
        if whole and elements >= CONTRADICTED * whole:
            yield {
                "place": clean_name(path),
                "class": type(module).__name__,
                "attribute": attribute,
                "value": value,
                "own": _sets_it_itself(module, attribute),
                "parameters": bounded([clean_name(name) for name, _ in against]),
            }


def _on_parameters(model: torch.nn.Module) -> Iterator[dict[str, Any]]:
    for name, parameter in model.named_parameters():
        for attribute, value in _marks(vars(parameter), exact=False):
            unclear = attribute == _KERAS and value
            if parameter.requires_grad is not value and not unclear:
                yield {
                    "place": clean_name(name),
                    "class": type(parameter).__name__,
                    "attribute": attribute,
                    "value": value,
                    "own": False,
                    "parameters": bounded([clean_name(name)]),
                }


def _marks(attributes: dict[str, Any], *, exact: bool) -> Iterator[tuple[str, bool]]:
    """Yield attributes that somebody takes for the one that decides.

    A module has none of that name, so there the ``exact`` one counts as well.
    """
    for attribute, value in attributes.items():
        wanted = attribute == (WRITTEN if exact else _KERAS)
        if isinstance(value, bool) and (wanted or is_misspelled(attribute)):
            yield attribute, value


def is_misspelled(attribute: str) -> bool:
    """Tell whether an attribute's name is nearly ``requires_grad``.

    Examples
    --------
    >>> from ftlab.probes.model.freezing_facts import is_misspelled
    >>> is_misspelled("require_grad"), is_misspelled("gradient_checkpointing")
    (True, False)
    """
    if attribute == WRITTEN or "gra" not in attribute or attribute.startswith("_"):
        return False
    return difflib.SequenceMatcher(None, attribute, WRITTEN).ratio() >= NEAR


def _sets_it_itself(module: torch.nn.Module, attribute: str) -> bool:
    """Tell whether the code of the module's class may have set it for its own use."""
    kind = type(module)
    if kind.__module__.partition(".")[0] in _LIBRARIES:
        return False
    made = getattr(kind.__init__, "__code__", None)
    return made is not None and attribute in made.co_names
