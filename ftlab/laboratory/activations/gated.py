"""MLPs: which projection goes through the activation, and which activation it is."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch.nn import functional

from ftlab.laboratory.activations.component import Mistake, Site, register
from ftlab.records.activation import PartFault

MLP = r".*(MLP|Mlp|FeedForward|FFN|DenseGatedActDense|DenseActDense|GLU|Expert)"
ACTIVATION = r".*Activation|(Si|GE|Re|CE|SE|E)LU6?|Tanh|Sigmoid|Mish|Hard.*|Leaky.*"
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "silu": functional.silu,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "no activation": lambda x: x,
}
GATED: dict[str, Callable[..., Any]] = {
    "the activation of up times gate ({}), not of gate": lambda a, g, u: a(u) * g,
    "a gate with {}": lambda a, g, u: a(g) * u,
    "{} of gate times up": lambda a, g, u: a(g * u),
    "the sum of both ({}), not their product": lambda a, g, u: a(g) + u,
    "{} of gate alone": lambda a, g, _: a(g),
    "{} of up alone": lambda a, _, u: a(u),
}
_GATE = re.compile(r".*gate.*|wi_0")
_UP = re.compile(r".*up.*|wi_1|fc1|c_fc|dense_h_to_4h|fc_in|wi|w3|lin1|intermediate")
_DOWN = re.compile(r".*down.*|wo|fc2|c_proj|dense_4h_to_h|fc_out|w2|lin2|.*out.*")


@register(ACTIVATION, "activation", own=False)
def activation(site: Site) -> Iterator[PartFault]:
    """Compare with the activation that the configuration names."""
    if site.library is None or site.close(site.returned, site.expected()):
        return
    mine, theirs = type(site.module).__name__, type(site.library.module).__name__
    said = f"{mine} stands where the configuration has {theirs}"
    yield site.fault(said, "Take ACT2FN[config.hidden_act], or change the config.")


@register(MLP, "MLP", own=False)
def gate_order(site: Site) -> Iterator[PartFault]:
    """Compare with the library's, or with the two orders that a gated MLP can have."""
    if site.comparable:
        yield from site.against_library(_mistakes(site))
    elif not site.of_library:
        # names say which is the gate, nothing says which activation its author wants
        ways = (e for e in _mistakes(site) if site.close(site.returned, e.output()))
        found = next(ways, None)
        if found is not None and found.said.startswith("the activation of up"):
            yield site.fault(f"it computes {found.said}", found.fix, "warning")


def _mistakes(site: Site) -> Iterator[Mistake]:
    names = dict(site.module.named_children())
    gate, down = (_named(names, each) for each in (_GATE, _DOWN))
    up = _named({n: m for n, m in names.items() if m not in (gate, down)}, _UP)
    if down is None or (up is None and gate is None):
        return
    x = site.input
    if gate is not None and up is None:  # both in one projection
        first, second = gate(x).chunk(2, -1)
    else:
        first, second = None if gate is None else gate(x), up and up(x)
    for name, act in ACTIVATIONS.items():
        if first is None:
            fix = "Use the activation that the configuration names."
            yield Mistake(f"with {name}", fix, partial(_down, down, act, second))
            continue
        fix = "The gate goes through the activation: down(act(gate(x)) * up(x))."
        # without an activation both orders are the same
        for said, way in list(GATED.items())[name == "no activation" :]:
            made = partial(_down, down, way, act, first, second)
            yield Mistake(said.format(name), fix, made)


def _down(down: Any, way: Any, *given: Any) -> Any:
    return down(way(*given))


def _named(names: dict[str, Any], pattern: re.Pattern[str]) -> Any:
    return next((each for name, each in names.items() if pattern.fullmatch(name)), None)
