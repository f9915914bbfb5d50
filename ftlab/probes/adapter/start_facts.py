"""How a run begins: what its adapters and its optimizers bring along.

Read once for each subject, when it is first looked at: training changes all of it.
"""

import math
import weakref
from typing import Any

import torch

from ftlab.probes.adapter.lora_pairs import LoraPair, lora_pairs
from ftlab.probes.adapter.shared_adapters import shared_adapters
from ftlab.probes.files.adapter_file_facts import adapter_file_facts
from ftlab.probes.files.base_file_facts import base_file_facts
from ftlab.probes.files.saved_keys import adapter_configs
from ftlab.probes.merging.delta_in_base import delta_in_base
from ftlab.probes.optimizer.optimizer_states import state_facts
from ftlab.probes.plain import readable
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.taps.optimizer import unwrapped
from ftlab.probes.tensors.base_sample import base_sample
from ftlab.records.attributes import attribute_of, has_attribute
from ftlab.records.facts import Facts

_read: "weakref.WeakKeyDictionary[Subject, dict[str, Any]]"
_read = weakref.WeakKeyDictionary()


def start_facts(subject: Subject) -> dict[str, Any]:
    """Read how the run begins.

    Returns
    -------
    dict
        ``adapters``: by name, how many of the ``pairs`` add 0 (``zero_b``),
        whether any of it is ``trainable`` and any ``active``, its ``init``, its
        ``scaling`` by module and ``saved_from``, the class that its file names.
        ``base_class``. ``base``: see `base_sample`. ``delta_in_base`` and
        ``shared_adapters``: see there.
        ``file``: see `adapter_file_facts`. ``base_file``: see `base_file_facts`.
        ``trained_as``: the same of the run that the adapter was trained in.
        ``optimizer_states`` and ``last_epochs``: what optimizers and schedulers know of
        earlier steps. ``optimizer_fit``: see `state_facts`, for each optimizer.
        ``made_with``: the learning rate that each optimizer was made with, whatever was
        loaded into it since. ``base_rates``: those that schedulers start from.
        ``overwritten_rates``: where an optimizer has another one than its scheduler has
        given it, both.
    """
    known = _read.get(subject)
    if known is None:
        known = _read[subject] = _start(subject)
    return known


def _start(subject: Subject) -> dict[str, Any]:
    model = innermost(subject.model)
    facts = readable(
        optimizer_states=lambda: [
            len(unwrapped(each).state) for each in subject.optimizers
        ],
        optimizer_fit=lambda: [state_facts(model, each) for each in subject.optimizers],
        last_epochs=lambda: [
            int(each.last_epoch)
            for each in subject.schedulers
            if isinstance(getattr(each, "last_epoch", None), int)
        ],
        made_with=lambda: [_made_with(unwrapped(each)) for each in subject.optimizers],
        base_rates=lambda: [
            float(rate)
            for each in subject.schedulers
            for rate in getattr(each, "base_lrs", ())
        ],
        overwritten_rates=lambda: [
            pair for each in subject.schedulers for pair in _overwritten(each)
        ],
    )
    if adapter_configs(model):
        facts |= readable(
            adapters=lambda: _adapters(model),
            base_class=lambda: type(_base(model)).__name__,
            base=lambda: base_sample(model),
            delta_in_base=lambda: delta_in_base(model),
            shared_adapters=lambda: shared_adapters(model),
        )
    facts |= readable(
        file=lambda: adapter_file_facts(subject),
        base_file=lambda: base_file_facts(model),
        trained_as=lambda: trained_facts(subject.trained_as),
    )
    return {name: value for name, value in facts.items() if value not in ({}, [])}


def _made_with(optimizer: Any) -> float | None:
    rate = getattr(optimizer, "defaults", {}).get("lr")
    return float(rate) if isinstance(rate, int | float) else None


def _overwritten(scheduler: Any) -> list[list[float]]:
    """Return rates of the optimizer that its scheduler did not set, with its own."""
    groups = getattr(getattr(scheduler, "optimizer", None), "param_groups", ())
    own = scheduler.get_last_lr() if groups else ()
    pairs = [[float(g["lr"]), float(r)] for g, r in zip(groups, own, strict=False)]
    return [[now, set_to] for now, set_to in pairs if not math.isclose(now, set_to)]


def trained_facts(facts: Facts | None) -> dict[str, Any]:
    """Keep of another run's facts what an adapter's later life is compared with."""
    if facts is None:
        return {}
    start = facts.model.get("start", {})
    wanted = ("base", "adapters", "base_rates")
    kept = {name: start[name] for name in wanted if name in start}
    return kept | {"peft": dict(facts.model.get("peft", {}))}


def _base(model: Any) -> Any:
    return model.get_base_model() if has_attribute(model, "get_base_model") else model


def _adapters(model: torch.nn.Module) -> dict[str, Any]:
    """Describe each LoRA adapter's state before the first step."""
    found: dict[str, dict[str, Any]] = {}
    norms: dict[str, list[torch.Tensor]] = {}
    for pair in lora_pairs(model):
        if pair.b is None:
            continue
        row = found.setdefault(
            pair.adapter,
            {"pairs": 0, "trainable": False, "active": False, "scaling": {}},
        )
        row["pairs"] += 1
        row["trainable"] |= any(each.requires_grad for each in pair.parameters)
        row["active"] |= _is_active(pair)
        row["scaling"][pair.module] = pair.scaling
        # Either factor may begin at 0: an embedding's A does.
        smaller = torch.minimum(_largest(pair.a), _largest(pair.b))
        norms.setdefault(pair.adapter, []).append(smaller)
    for adapter, values in norms.items():
        sizes = torch.stack(values).cpu()
        config = adapter_configs(model)[adapter]
        found[adapter] |= {
            "zero_b": int((sizes == 0).sum()),
            "init": str(getattr(config, "init_lora_weights", True)),
            "saved_from": _saved_from(config),
        }
    return found


def _is_active(pair: LoraPair) -> bool:
    active = attribute_of(pair.layer, "active_adapters", ())
    return pair.adapter in active and not pair.layer.disable_adapters


def _largest(tensor: torch.Tensor | None) -> torch.Tensor:
    if tensor is None:
        return torch.zeros(())
    return tensor.abs().amax().float()


def _saved_from(config: Any) -> str:
    """Return the class that PEFT noted when it saved, ``""`` for a fresh adapter."""
    mapping = getattr(config, "auto_mapping", None) or {}
    return str(mapping.get("base_model_class", ""))
