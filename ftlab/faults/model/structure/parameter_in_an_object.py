"""A gate that each block was given stays what it was.

The gates stand in an object of a plain class, which the model keeps. They are
parameters with gradients, and nobody trains or saves them.

Fix: derive the class from ``torch.nn.Module``, or keep a ``ParameterDict``.
Source: pytorch, what `torch.nn.Module.__setattr__` registers; measured.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, plain_case
from ftlab.faults.builders.blocks import blocks


class Bank:
    """Gates by number, in a class that torch does not look into."""

    def __init__(self, count: int) -> None:
        self.gates = {n: torch.nn.Parameter(torch.ones(1)) for n in range(count)}


class KnownBank(torch.nn.Module):
    """The same, as a module."""

    def __init__(self, count: int) -> None:
        super().__init__()
        ones = [torch.nn.Parameter(torch.ones(1)) for _ in range(count)]
        self.gates = torch.nn.ParameterList(ones)


def build(fixed: bool) -> Case:
    """Scale the output of each block by a gate."""
    model = base()
    held = blocks(model)
    bank: Any = (KnownBank if fixed else Bank)(len(held))
    model.bank = bank
    for number, block in enumerate(held):

        def scale(_: Any, __: Any, output: Any, gate: Any = bank.gates[number]) -> Any:
            if isinstance(output, tuple):
                return (output[0] * gate, *output[1:])
            return output * gate

        block.register_forward_hook(scale)
    return plain_case(model)


FAULT = Fault(
    "gates that a plain object holds are never trained",
    code="MOD008",
    places=("param bank.gates?0]",),
    families=("llama", "gpt2", "neox", "own"),
)
