"""MLPs: which projection goes through the activation, and which activation it is."""

import re
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional

from ftlab.laboratory.activations.component import Mistake, Site, register
from ftlab.laboratory.activations.counterpart import is_library
from ftlab.records.activation import PartFault

MLP = r".*(MLP|Mlp|FeedForward|FFN|DenseGatedActDense|DenseActDense|GLU|Expert)"
ACTIVATIONS = {
    "silu": functional.silu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "relu": functional.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "no activation": lambda x: x,
}
_GATE = re.compile(r".*gate.*|wi_0")
_UP = re.compile(r".*up.*|wi_1|fc1|c_fc|dense_h_to_4h|fc_in|wi|w3|lin1|intermediate")
_DOWN = re.compile(r".*down.*|wo|fc2|c_proj|dense_4h_to_h|fc_out|w2|lin2|.*out.*")


@register(MLP, "MLP", own=False)
def gate_order(site: Site) -> Iterator[PartFault]:
    """Compare with the library's, or with the two orders that a gated MLP can have."""
    if site.library is not None:
        yield from site.against_library(_mistakes(site))
        return
    if is_library(site.module) or not _parts(site.module):
        return
    # a name says which is the gate, and nothing says which activation its author wants
    ways = [(each, each.output()) for each in _mistakes(site)]
    found = next((e for e, out in ways if site.close(site.returned, out)), None)
    if found is not None and found.said.startswith("the activation of up"):
        yield site.fault(f"it computes {found.said}", found.fix)


def _parts(module: Any) -> tuple[Any, Any, Any] | None:
    """Return the gate, up and down projections; the gate may be ``None``."""
    names = dict(module.named_children())
    gate = next((m for n, m in names.items() if _GATE.fullmatch(n)), None)
    down = next((m for n, m in names.items() if _DOWN.fullmatch(n)), None)
    up = next(
        (m for n, m in names.items() if _UP.fullmatch(n) and m not in (gate, down)),
        None,
    )
    if gate is not None and up is None and down is not None:
        return _halves(gate), _halves(gate, 1), down  # gate and up in one projection
    return None if up is None or down is None else (gate, up, down)


def _halves(both: Any, at: int = 0) -> Any:
    return lambda x: both(x).chunk(2, -1)[at]


def _mistakes(site: Site) -> Iterator[Mistake]:
    parts = _parts(site.module)
    if parts is None:
        return
    gate, up, down = parts
    x = site.input
    for name, act in ACTIVATIONS.items():
        if gate is None:
            fix = "Use the activation that the configuration names."
            yield Mistake(f"with {name}", fix, lambda a=act: down(a(up(x))))
            continue
        fix = "The gate goes through the activation: down(act(gate(x)) * up(x))."
        ways = {
            f"the activation of up times gate ({name}), where gate must go through it": lambda a=act: (
                down(a(up(x)) * gate(x))
            ),
            f"a gate with {name}": lambda a=act: down(a(gate(x)) * up(x)),
            f"{name} of gate times up": lambda a=act: down(a(gate(x) * up(x))),
            f"the sum of both ({name}), not their product": lambda a=act: down(
                a(gate(x)) + up(x)
            ),
            f"{name} of gate alone": lambda a=act: down(a(gate(x))),
            f"{name} of up alone": lambda a=act: down(a(up(x))),
        }
        if name == "no activation":  # both orders are the same then
            del ways[next(iter(ways))]
        yield from (Mistake(said, fix, way) for said, way in ways.items())
