"""Heads of a task that are frozen, and whether they still look freshly initialised.

The head of a causal language model belongs to the pretrained model, and is left alone.
A head for classes, values or spans is new: transformers draws it, with the warning that
it should be trained. Nobody keeps a record of that, but the weights do: a drawn matrix
has the deviation it was drawn with, a mean of 0 and a bias of exactly 0.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import plain_modules
from ftlab.probes.adapter_config.unadapted import is_linear
from ftlab.records.attributes import attribute_of, has_attribute

DEVIATIONS = 4.0
"""Standard errors up to which a deviation and a mean count as those drawn from."""

ROUNDING = 0.01
"""Relative error of a deviation that a 16-bit dtype may add."""


def frozen_heads(root: Any, prefix: str) -> list[dict[str, Any]]:
    """Describe frozen task heads of ``root``, the model that the adapters are in.

    Returns
    -------
    list
        ``module``, ``weight`` (the parameter), ``shape``, ``std``, ``mean``,
        ``expected_std`` (``None`` where no initialisation fits) and ``fresh``; and
        ``adapted`` where an adapter stands on it.
    """
    heads = [(name, module, False) for name, module in _heads(root)]
    heads += [(name, module, True) for name, module in _adapted(root)]
    found = []
    for name, module, adapted in heads:
        if not any(parameter.requires_grad for parameter in module.parameters()):
            facts = _describe(f"{prefix}.{name}" if prefix else name, module, root)
            if adapted:
                inside = {"weight": f"{facts['module']}.base_layer.weight"}
                facts |= {"adapted": True} | inside
            found.append(facts)
    return found


def _adapted(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield linear layers under adapters that are a head, in a model with a body."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    body, vocabulary = _body(root), _vocabulary(root)
    for name, module in root.named_modules() if body else ():
        within = name.startswith(f"{body}.") or ".modules_to_save." in f".{name}"
        if isinstance(module, BaseTunerLayer) and not within:
            under = module.get_base_layer()
            if is_linear(under):
                rows, columns = _sizes(under)
                if rows != vocabulary and rows < columns:
                    yield name, under


def _heads(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield linear layers outside of blocks that map to fewer values than they get.

    Where the model does not say what its body is, a head is what comes after all
    adapters: the projection of an image's patches comes before them.
    """
    body = _body(root)
    found: list[tuple[str, Any]] = []
    for name, module in _candidates(root, body):
        if module is None and not body:
            found.clear()
        elif module is not None:
            found.append((name, module))
    yield from found


def _candidates(root: Any, body: str) -> Iterator[tuple[str, Any]]:
    """Yield what may be a head, in the model's order, and ``None`` for each adapter."""
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper

    vocabulary = _vocabulary(root)
    kept: list[str] = []
    for name, module in plain_modules(root):
        if isinstance(module, BaseTunerLayer | AuxiliaryTrainingWrapper):
            kept.append(f"{name}.")
            if isinstance(module, BaseTunerLayer):
                yield name, None
            continue
        if name.startswith(tuple(kept)):
            continue
        if any(part.isdigit() for part in name.split(".")) or not is_linear(module):
            continue
        if body and (name == body or name.startswith(f"{body}.")):
            continue
        rows, columns = _sizes(module)
        if rows != vocabulary and (body or rows < columns):
            yield name, module


def _body(root: Any) -> str:
    """Name the pretrained part of a transformers model that has a head."""
    body = attribute_of(root, "base_model_prefix", "")
    return body if isinstance(body, str) and has_attribute(root, body or " ") else ""


def _vocabulary(root: Any) -> int:
    """Return the number of rows of the input embeddings, or else of the first ones."""
    for module in root.modules():
        if isinstance(module, torch.nn.Embedding):
            return int(module.num_embeddings)
    return -1


def _sizes(module: Any) -> tuple[int, int]:
    rows, columns = attribute_of(module, "weight").shape
    return (columns, rows) if type(module).__name__ == "Conv1D" else (rows, columns)


def _describe(name: str, module: Any, root: Any) -> dict[str, Any]:
    weight = attribute_of(module, "weight").detach()
    facts: dict[str, Any] = {
        "module": name,
        "weight": f"{name}.weight",
        "shape": list(weight.shape),
        "fresh": False,
        "expected_std": None,
    }
    if weight.is_meta or not weight.is_floating_point() or weight.numel() < 2:
        return facts
    values = weight.float()
    std, mean = float(values.std(correction=0)), float(values.mean())
    facts |= {"std": std, "mean": mean}
    bias = attribute_of(module, "bias")
    still = bias is None or not bool(bias.detach().any())
    drawn = getattr(attribute_of(root, "config"), "initializer_range", None)
    if isinstance(drawn, float | int) and drawn > 0 and still:
        facts |= _compared(values, std, mean, float(drawn))
    bound = 1 / math.sqrt(_sizes(module)[1])
    if not facts["fresh"] and float(values.abs().max()) <= bound:
        # What nn.Linear draws from by itself: a uniform distribution.
        facts |= _compared(values, std, mean, bound / math.sqrt(3))
    return facts


def _compared(
    values: torch.Tensor, std: float, mean: float, drawn: float
) -> dict[str, Any]:
    """Compare with a distribution of mean 0, within some standard errors.

    The standard error of a deviation is s / sqrt(2 n) for a normal distribution and
    smaller for a uniform one.
    """
    n = values.numel()
    spread = DEVIATIONS / math.sqrt(2 * n) + ROUNDING
    fresh = abs(std / drawn - 1) <= spread
    fresh = fresh and abs(mean) <= DEVIATIONS * drawn / math.sqrt(n)
    return {"fresh": fresh, "expected_std": drawn if fresh else None}
