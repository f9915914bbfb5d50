"""A resumed optimizer is built over its parameters in another order.

Its state goes by order alone. Layers have equal shapes, so nothing is said: each layer
goes on with the moments of another one.

Fix: build the optimizer over the same order as where its state was saved.
Source: wochenlong/lora-scripts-next#320, roytseng-tw/Detectron.pytorch#118.
"""

import copy
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora
from ftlab.probes.naming import layers_of


def build(fixed: bool) -> Case:
    """Build the second half of a run."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    loop_case(model, optimizer).run(12)
    second = torch.optim.AdamW(_layers(model, last_first=not fixed), lr=5e-3)
    second.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    return loop_case(model, second)


def _layers(model: Any, *, last_first: bool) -> list[torch.nn.Parameter]:
    """List the trainable parameters layer by layer, as a dict of layers would."""
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    layers = layers_of(named)
    order = list(dict.fromkeys(layers.values()))
    if last_first:
        order.reverse()
    return [p for each in order for n, p in named.items() if layers[n] == each]


FAULT = Fault(
    "the loss climbs after a resume, although weights and optimizer were loaded",
    code="ADP034",
    places=("optimizer state", "param *lora_B*"),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
