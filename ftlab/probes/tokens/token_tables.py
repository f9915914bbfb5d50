"""The tensors with one row for each token, and which of their rows can learn."""

import math
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import plain_modules
from ftlab.probes.adapter_config.unadapted import is_linear
from ftlab.probes.naming import clean_name
from ftlab.records.attributes import attribute_of, has_attribute

_WITHIN = ("token_adapter", "original_module", "base_layer")
"""Where PEFT keeps what it has replaced."""


@dataclass(frozen=True, slots=True)
class TokenTable:
    """An input embedding, or the output embeddings.

    Attributes
    ----------
    name
        Of the parameter.
    reference
        The parameter, one row for each token; held weakly.
    output
        Whether it makes the logits.
    tied
        Whether one tensor does both.
    learnt
        Rows that are trained elsewhere; ``None`` when all of them are.
    drawn
        Deviations that new rows may have been drawn with.
    """

    name: str
    reference: "weakref.ref[torch.nn.Parameter]"
    output: bool
    tied: bool
    learnt: frozenset[int] | None
    drawn: tuple[float, ...]

    @property
    def weight(self) -> torch.Tensor:
        """The parameter; nothing is in it any more when it is gone."""
        weight = self.reference()
        return torch.empty(0, 0) if weight is None else weight


def token_tables(model: torch.nn.Module) -> list[TokenTable]:
    """List the input embedding and the output embeddings, a tied one once."""
    found = list(_holders(model))
    words = next((each for each in found if not each[3]), None)
    if words is None:
        return []
    rows = len(words[2])
    heads = [each for each in found if each[3] and len(each[2]) == rows]
    kept = [words, *heads[-1:]]
    tied = len(kept) > 1 and kept[0][2] is kept[1][2]
    range_ = getattr(attribute_of(model, "config"), "initializer_range", None)
    if tied:
        learnt = _both(_learnt(kept[0][1]), _learnt(kept[1][1]))
        return [_table(words, range_, learnt, tied=True)]
    return [_table(each, range_, _learnt(each[1]), tied=False) for each in kept]


Found = tuple[str, Any, torch.nn.Parameter, bool]
"""Name, what stands in the place of the module, its weight, whether it is a head."""


def _holders(model: torch.nn.Module) -> Iterator[Found]:
    """Yield embeddings and linear layers outside of the numbered blocks."""
    names = {id(each): clean_name(name) for name, each in model.named_parameters()}
    for path, module in _modules(model):
        if any(part.isdigit() for part in path.split(".")):
            continue
        base = _base(module)
        weight = attribute_of(base, "weight")
        if type(weight) is not torch.nn.Parameter or weight.dim() != 2:
            continue
        if weight.is_meta or not weight.is_floating_point():
            continue
        name = names.get(id(weight), f"{path}.weight")
        if isinstance(base, torch.nn.Embedding):
            yield name, module, weight, False
        elif is_linear(base) and type(base).__name__ != "Conv1D":
            yield name, module, weight, True


def _modules(model: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    """Yield modules, those that PEFT has replaced as what replaced them."""
    peft = any(has_attribute(module, "peft_config") for module in model.modules())
    if peft:
        yield from plain_modules(model)
        return
    for path, module in model.named_modules():
        yield clean_name(path), module


def _base(module: Any) -> Any:
    """Return the layer within what PEFT has put in its place."""
    while True:
        inner = dict(vars(module).get("_modules", {}).items())  # of a script: no get
        below = (inner.get(name) for name in _WITHIN)
        found = next((each for each in below if each is not None), None)
        if found is None:
            return module
        module = found


def _learnt(module: Any) -> frozenset[int] | None:
    """Return the rows that PEFT trains beside the weight, ``None`` for all."""
    tokens: set[int] = set()
    for path, parameter in module.named_parameters():
        if not parameter.requires_grad or path == "weight":
            continue
        if "trainable_tokens_delta" not in path:
            return None
    for part in module.modules():
        indices = vars(part).get("token_indices")
        if isinstance(indices, dict):
            tokens.update(int(i) for each in indices.values() for i in each)
    return frozenset(tokens)


def _both(
    one: frozenset[int] | None, other: frozenset[int] | None
) -> frozenset[int] | None:
    return None if one is None or other is None else one | other


def _table(
    found: Found, range_: Any, learnt: frozenset[int] | None, *, tied: bool
) -> TokenTable:
    name, _, weight, output = found
    own = 1 / math.sqrt(3 * weight.shape[1]) if output else 1.0
    known = [range_] if isinstance(range_, float) and range_ > 0 else []
    return TokenTable(name, weakref.ref(weight), output, tied, learnt, (*known, own))
