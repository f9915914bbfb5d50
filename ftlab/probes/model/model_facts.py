"""Facts of a model that rules need and no time series holds."""

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from ftlab.probes.adapter_config.adapter_facts import adapter_facts, configurations
from ftlab.probes.compilation.compiled_facts import compiled_facts
from ftlab.probes.files.saving_facts import saving_facts
from ftlab.probes.model.buffer_facts import buffer_facts
from ftlab.probes.model.freezing_facts import freezing_facts
from ftlab.probes.model.lettered import lettered
from ftlab.probes.model.shared_layers import half_wrapped
from ftlab.probes.model.shared_memory import shared_memory
from ftlab.probes.model.tied_weights import untied_weights
from ftlab.probes.naming import clean_name, named_parameters
from ftlab.probes.plain import dtype_name, readable
from ftlab.probes.quantisation.four_bit_facts import four_bit_facts
from ftlab.probes.quantisation.quantised_heads import quantised_heads
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tensors.base_norm import is_quantized
from ftlab.records.attributes import attribute_of

MANY = 32
"""At most so many names of modules in evaluation mode are listed."""


def model_facts(model: torch.nn.Module) -> dict[str, Any]:
    """Read everything that `ftlab.records.facts.Facts.model` holds."""
    inner = innermost(model)
    facts = readable(
        **{"class": lambda: type(inner).__name__},
        wrapped_in=lambda: "" if inner is model else type(model).__name__,
        parameters=lambda: sum(map(_elements, inner.parameters())),
        trainable=lambda: sum(
            _elements(p) for p in inner.parameters() if p.requires_grad
        ),
        dtype=lambda: next(iter(_dtypes(inner)), ""),
        dtypes=lambda: _dtypes(inner),
        device=lambda: ", ".join(sorted({str(p.device) for p in inner.parameters()})),
        peft=lambda: configurations(inner),
        adapters=lambda: adapter_facts(inner),
        active_adapters=lambda: _active_adapters(inner),
        quantized=lambda: [clean_name(n) for n, m in leaves(inner) if is_quantized(m)],
        input_requires_grad_hook=lambda: _has_input_hook(inner),
        tied=lambda: [
            [e.name, *e.aliases] for e in named_parameters(model) if e.aliases
        ],
        compiled=lambda: is_compiled(model),
        buffers=lambda: buffer_facts(inner),
        compilation=lambda: compiled_facts(model),
        four_bit=lambda: four_bit_facts(inner),
        quantised_heads=lambda: quantised_heads(inner),
        training_modes=lambda: _modes(inner),
        saving=lambda: saving_facts(model),
        freezing=lambda: freezing_facts(inner),
        lettered=lambda: lettered(inner),
        untied=lambda: untied_weights(inner),
        shared_memory=lambda: shared_memory(inner),
        half_wrapped=lambda: half_wrapped(inner),
        embeds=lambda: _embeds(inner),
    )
    return facts | readable_checkpointing(inner)


def leaves(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield modules without children."""
    for name, module in model.named_modules():
        if next(module.children(), None) is None:
            yield name, module


def readable_checkpointing(model: torch.nn.Module) -> dict[str, bool | None]:
    """Tell whether blocks are computed again in backward, and by which variant.

    transformers sets a flag and a partial of ``torch.utils.checkpoint`` on each block.
    A checkpoint that is written out in a forward cannot be seen: ``None``.
    """
    flags = [(m, attribute_of(m, "gradient_checkpointing")) for m in model.modules()]
    if not any(isinstance(flag, bool) for _, flag in flags):
        return {"gradient_checkpointing": None, "checkpoint_reentrant": None}
    enabled = [module for module, flag in flags if flag is True]
    if not enabled:
        return {"gradient_checkpointing": False, "checkpoint_reentrant": None}
    functions = [vars(m).get("_gradient_checkpointing_func") for m in enabled]
    asked = {getattr(f, "keywords", {}).get("use_reentrant") for f in functions if f}
    reentrant = asked.pop() if len(asked) == 1 else None
    return {"gradient_checkpointing": True, "checkpoint_reentrant": reentrant}


def _elements(parameter: torch.nn.Parameter) -> int:
    """Count elements; a 4-bit weight packs two into each of its own."""
    state = getattr(parameter, "quant_state", None)
    shape = getattr(state, "shape", None) or parameter.shape
    return int(shape.numel())


def _dtypes(model: torch.nn.Module) -> dict[str, int]:
    """Count elements by dtype, most first; quantised ones count as ``"4bit"``..."""
    counts: Counter[str] = Counter()
    for parameter in model.parameters():
        kind = {"Params4bit": "4bit", "Int8Params": "8bit"}.get(
            type(parameter).__name__
        )
        counts[kind or dtype_name(parameter.dtype)] += _elements(parameter)
    return dict(counts.most_common())


def _active_adapters(model: torch.nn.Module) -> list[str]:
    """List adapters that are active in at least one layer, and not disabled there."""
    if "peft" not in sys.modules:
        return []
    from peft.tuners.tuners_utils import BaseTunerLayer

    layers = (m for m in model.modules() if isinstance(m, BaseTunerLayer))
    return sorted(
        {a for m in layers if not m.disable_adapters for a in m.active_adapters}
    )


def _embeds(model: torch.nn.Module) -> bool:
    """Tell whether some module looks rows up by id, as far as classes tell."""
    return any(
        isinstance(module, torch.nn.Embedding | torch.nn.EmbeddingBag)
        or "embedding" in type(module).__name__.lower()
        for module in model.modules()
    )


def _has_input_hook(model: Any) -> bool:
    """Tell whether the embedding's output is made to require a gradient."""
    hooks = vars(model.get_input_embeddings()).get("_forward_hooks") or {}
    names = {getattr(hook, "__name__", "") for hook in hooks.values()}
    return any(name.startswith("make_inputs_require_grad") for name in names)


def is_compiled(model: torch.nn.Module) -> bool:
    """Tell ``torch.compile(model)`` and ``model.compile()``, of any part."""
    return any(
        type(module).__name__ == "OptimizedModule"
        or vars(module).get("_compiled_call_impl") is not None
        for module in model.modules()
    )


def _modes(model: torch.nn.Module) -> dict[str, Any]:
    """Tell the root's mode, and which parts differ from their parent."""
    differing: list[str] = []

    def walk(module: torch.nn.Module, path: str) -> None:
        for name, child in module.named_children():
            inside = f"{path}.{name}" if path else name
            if child.training != module.training:
                differing.append(clean_name(inside))
            walk(child, inside)

    walk(model, "")
    return {"training": model.training, "differing": differing[:MANY]}
