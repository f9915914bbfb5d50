"""Anomalies that the user's own code bears in backward, behind a finite loss."""

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Batch, Live, plant
from benchmarks.anomalies.loops import loop
from benchmarks.anomalies.losses import token_losses, with_entry

MLP = "model.layers.1.mlp"


class Around(torch.nn.Module):
    """A module and what the user does to its output."""

    def __init__(self, inner: torch.nn.Module, after: Callable[[Any], Any]) -> None:
        super().__init__()
        self.inner = inner
        self.after = after

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module, then ``after``."""
        return self.after(self.inner(*args, **kwargs))


def around_mlp(model: Any, after: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Let ``after`` see what the second MLP of a Llama puts out."""
    layer = model.get_submodule("model.layers.1")
    layer.mlp = Around(layer.mlp, after)


def probes(seed: int, bad: torch.Tensor, at: int, healthy: bool) -> list[Batch]:
    """Return batches with a ``probe`` of halves, which is ``bad`` in one of them."""
    good = torch.full_like(bad, 0.5)
    return with_entry(seed, "probe", good, good if healthy else bad, at)


@plant("aten.div.Tensor", phase="backward", forward="aten.sqrt.default", step=1)
def root_at_zero(seed: int, healthy: bool) -> Live:
    """Take the distance of two equal vectors: the derivative of sqrt at 0."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        found = token_losses(model, batch).mean(1)
        gap = found - found.detach() * batch["probe"]
        distance = gap.square().sqrt()  # <- born here
        return found.mean() + distance.mean()

    return loop(model, probes(seed, torch.ones(2), 1, healthy), loss_of)


@plant(
    "aten.pow.Tensor_Scalar",
    phase="backward",
    forward="aten.pow.Tensor_Scalar",
    step=2,
    uses="autocast-bf16",
)
def power_at_zero(seed: int, healthy: bool) -> Live:
    """Raise zero to the power 0.25: its derivative holds 0 ** -0.75."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        found = token_losses(model, batch).mean(1)
        gap = found - found.detach() * batch["probe"]
        return gap.pow(0.25).mean()  # <- born here

    made = probes(seed, torch.ones(2), 2, healthy)
    return loop(model, made, loss_of, autocast=torch.bfloat16)


@plant("aten.sqrt.default", step=1)
def where_hides_a_root(seed: int, healthy: bool) -> Live:
    """Hide sqrt of a negative number by where: its derivative reads the NaN."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        found = token_losses(model, batch).mean(1) * batch["probe"]
        root = found.sqrt()  # <- born here
        return torch.where(found > 0, root, found).mean()

    bad = torch.tensor([1.0, -1.0])
    return loop(model, probes(seed, bad, 1, healthy), loss_of)


@plant("aten.exp.default", step=1, uses="lora")
def where_hides_an_exponential(seed: int, healthy: bool) -> Live:
    """Hide exp of a large number by where: its derivative is the infinity itself."""
    model = tiny.lora(tiny.llama(seed))

    def loss_of(batch: Batch) -> torch.Tensor:
        found = token_losses(model, batch).mean(1) * batch["probe"]
        power = found.exp()  # <- born here
        return torch.where(found > 20, found, power).mean()

    bad = torch.tensor([0.5, 50.0])
    return loop(model, probes(seed, bad, 1, healthy), loss_of)


@plant("aten.div.Tensor", phase="backward", forward="aten.log.default", step=1)
def where_hides_a_logarithm(seed: int, healthy: bool) -> Live:
    """Hide log(0) by where: in backward the zero gradient is divided by zero."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        found = token_losses(model, batch).mean(1) * batch["probe"]
        return torch.where(found > 0, found.log(), found).mean()  # <- born here

    bad = torch.tensor([1.0, 0.0])
    return loop(model, probes(seed, bad, 1, healthy), loss_of)


@plant("aten.div.Tensor", phase="backward", forward="aten.div.Tensor", step=2)
def where_hides_a_division(seed: int, healthy: bool) -> Live:
    """Hide x / 0 by where: in backward the zero gradient is divided by zero."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        found, count = token_losses(model, batch).mean(1), batch["probe"]
        return torch.where(count > 0, found / count, found).mean()  # <- born here

    bad = torch.tensor([1.0, 0.0])
    return loop(model, probes(seed, bad, 2, healthy), loss_of)


@plant("aten.rsqrt.default", phase="backward", forward="aten.acos.default", step=1)
def angle_of_one(seed: int, healthy: bool) -> Live:
    """Take the angle of two parallel vectors: the derivative of acos at 1."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        found = token_losses(model, batch).mean(1)
        cosine = batch["probe"] + (found - found.detach())
        return found.mean() + cosine.acos().mean()  # <- born here

    return loop(model, probes(seed, torch.ones(2), 1, healthy), loss_of)


@plant("aten.div.Tensor", phase="backward", forward="aten.hypot.default", step=1)
def length_of_nothing(seed: int, healthy: bool) -> Live:
    """Take hypot(0, 0), whose derivative divides by 0."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        found = token_losses(model, batch).mean(1)
        nothing = (found - found.detach()) + batch["probe"]
        return found.mean() + torch.hypot(nothing, nothing).mean()  # <- born here

    return loop(model, probes(seed, torch.zeros(2), 1, healthy), loss_of)


@plant("aten.div.Tensor", phase="backward", forward="aten.log.default", step=2)
def logarithm_of_a_subnormal(seed: int, healthy: bool) -> Live:
    """Take log of 1e-39: -89.8 in forward, and a derivative above all floats."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        found = token_losses(model, batch).mean(1)
        chance = batch["probe"] + (found - found.detach())
        return found.mean() - chance.log().sum()  # <- born here

    bad = torch.tensor([0.5, 1e-39])
    return loop(model, probes(seed, bad, 2, healthy), loss_of)


@plant("aten.div.Tensor", phase="backward", module=MLP, step=0)
def wrong_backward(seed: int, healthy: bool) -> Live:
    """Write a custom Function whose backward divides by the square of its input."""
    model = tiny.llama(seed)

    class Cube(torch.autograd.Function):
        """x³ with a backward that means well."""

        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            """Return the cube."""
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            """Return the gradient."""
            (x,) = ctx.saved_tensors
            floor = 1.0 if healthy else 0.0
            return grad * (x**3 + floor) / (x.abs() * 0 + floor)  # <- born here

    around_mlp(model, lambda x: x + Cube.apply(x))
    return loop(model, tiny.text(seed))
