"""Whether anything learns: an adapter may require grad, and take part in no forward."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from ftlab.laboratory.carriers import Carrier
from ftlab.laboratory.modules.wrapping import is_peft
from ftlab.records.printable import printable

HOOKS = ("_require_grads_hooks", "_require_grads_hook")
"""Where transformers keeps what ``enable_input_require_grads`` has put on."""


class Idle(NamedTuple):
    """Why nothing learns, the fix, and whether inputs are made to require grad."""

    sees: str
    fix: str
    inputs: bool


def learning_in(
    model: torch.nn.Module, carried: Sequence[Carrier]
) -> dict[str, torch.nn.Parameter]:
    """Return what requires grad, without adapters that are not active."""
    asleep: set[int] = set()
    awake: set[int] = set()
    for each in carried:
        for name, parameters in each.adapters.items():
            active = each.state(name) == "active"
            (awake if active else asleep).update(map(id, parameters))
    asleep -= awake
    named = model.named_parameters()
    return {n: p for n, p in named if p.requires_grad and id(p) not in asleep}


def idle(model: torch.nn.Module, carried: Sequence[Carrier]) -> Idle:
    """Say why nothing in a model learns."""
    states = {n: each.state(n) for each in reversed(carried) for n in each.adapters}
    merged = [name for name, state in states.items() if state == "merged"]
    sees, fix = "no parameter has requires_grad", "requires_grad_(True) on what is to"
    by_layer = any(each.inner is not None for each in carried)
    enable, unmerge, on = _calls(model)
    if merged:
        sees = f"adapter {printable(merged[0])} is merged into the weights"
        fix = unmerge
    elif "disabled" in states.values():
        sees, fix = "the adapters are disabled", enable
    elif states:
        name = printable(next(iter(states)))
        active = "active" in states.values()
        sees = f"adapter {name} is {'frozen' if active else 'not active'}"
        # a prompt's set_adapter leaves requires_grad as it is
        wake = (
            f'set_adapter("{name}"){on}' if by_layer else "requires_grad_(True) on it"
        )
        fix = f"{wake}, or load it by from_pretrained(..., is_trainable=True)"
        fix = fix if active else wake
    return Idle(sees, fix, _inputs_require_grad(model))


def _calls(model: torch.nn.Module) -> tuple[str, str, str]:
    """Return what enables, what unmerges, and where they are called."""
    each = " on each layer with an adapter"
    if any(map(is_peft, model.modules())):
        return "enable_adapter_layers()", "unmerge_adapter()", ""
    if any(vars(m).get("_hf_peft_config_loaded") for m in model.modules()):
        return "enable_adapters()", f"unmerge(){each}", ""
    return f"enable_adapters(True){each}", f"unmerge(){each}", each


def _inputs_require_grad(model: torch.nn.Module) -> bool:
    held: list[Any] = [vars(each) for each in model.modules()]
    return any(each.get(name) for each in held for name in HOOKS)
