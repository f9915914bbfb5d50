"""Modules and steps that go wrong on purpose, at a chosen call."""

from collections.abc import Callable
from typing import Any

import torch

from tests.models import batches, tiny_llama, tiny_lora


class Breaking(torch.nn.Module):
    """Wraps a module; while ``broken`` is set its output passes through ``fault``."""

    def __init__(
        self, inner: torch.nn.Module, fault: Callable[[torch.Tensor], torch.Tensor]
    ) -> None:
        super().__init__()
        self.inner = inner
        self.fault = fault
        self.broken = False

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        output = self.inner(*args, **kwargs)
        return self.fault(output) if self.broken else output


class GivesNan(torch.autograd.Function):
    """NaN in forward, all at once, from a finite input."""

    @staticmethod
    def forward(_: Any, x: torch.Tensor) -> torch.Tensor:
        return x.new_ones(x.shape) * float("nan")

    @staticmethod
    def backward(_: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad


class NanBackward(torch.autograd.Function):
    """The identity, whose own backward divides by zero."""

    @staticmethod
    def forward(_: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(_: Any, grad: torch.Tensor) -> torch.Tensor:
        return (grad * 0) / (grad * 0)


def log_of_zero(x: torch.Tensor) -> torch.Tensor:
    return x + (x * 0).log()


def root_at_zero(x: torch.Tensor) -> torch.Tensor:
    """Finite in forward; the derivative of sqrt at 0 is infinite."""
    return x + (x * 0).sqrt()


def overflow(x: torch.Tensor) -> torch.Tensor:
    return x + (x.half() * 0 + 60000) * 2


def harmless_infinity(x: torch.Tensor) -> torch.Tensor:
    """An infinity that a mask takes out again, in forward and in backward."""
    with torch.no_grad():
        hole = torch.where(x > x.max() + 1, (x * 0).log(), x)
    return x + 0 * hole


class Setup:
    """A tiny LoRA model, its optimizer and a step that can be told to break.

    ``step`` counts its calls; the batch at index ``bad`` breaks the module.
    """

    def __init__(
        self,
        fault: Callable[[torch.Tensor], torch.Tensor] = log_of_zero,
        *,
        bad: int = 2,
        place: str = "mlp.act_fn",
        base: torch.nn.Module | None = None,
        lora: dict[str, Any] | None = None,
    ) -> None:
        base = tiny_llama() if base is None else base
        layer = base.model.layers[1]
        parent, _, name = f"x.{place}".rpartition(".")
        owner = layer.get_submodule(parent.removeprefix("x").removeprefix("."))
        self.breaking = Breaking(getattr(owner, name), fault)
        setattr(owner, name, self.breaking)
        self.model = tiny_lora(base, **(lora or {})).train()
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=1e-2)
        self.feed = list(batches(4))
        self.bad = bad
        self.calls = 0

    @property
    def module(self) -> str:
        names = {m: n for n, m in self.model.named_modules()}
        return names[self.breaking]

    def loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        self.calls += 1
        self.breaking.broken = batch is self.feed[self.bad]
        return self.model(**batch).loss

    def step(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Train on one batch, weights included."""
        self.optimizer.zero_grad()
        loss = self.loss(batch)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def weights(self) -> dict[str, torch.Tensor]:
        return {n: p.detach().clone() for n, p in self.model.named_parameters()}
