"""Records of a training loop, kept in lists and dictionaries to be compared."""

from collections.abc import Iterable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from ftlab.probes.probe import Probe
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.probes.tensors.gradients import Gradients
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, LedgerEntry, StepRecord


class Recording:
    """A recorder whose sink is this object; use it as a context manager."""

    def __init__(
        self,
        model: Any,
        *optimizers: Any,
        probes: Iterable[Probe] | None = None,
        first_step: int = 0,
        **settings: Any,
    ) -> None:
        self.records: list[Any] = []
        self.subject = Subject(model, optimizers, **settings)
        chosen = [Gradients()] if probes is None else list(probes)
        self.recorder = Recorder(
            self.subject, chosen, self.records.append, first_step=first_step
        )

    def __enter__(self) -> "Recording":
        self.recorder.attach()
        return self

    def __exit__(self, *_: object) -> None:
        self.recorder.detach()

    @property
    def steps(self) -> list[StepRecord]:
        return [each for each in self.records if isinstance(each, StepRecord)]

    @property
    def losses(self) -> list[float | None]:
        return [each.loss for each in self.steps]

    @property
    def names(self) -> dict[int, NameRecord]:
        return {each.id: each for each in self.records if isinstance(each, NameRecord)}

    def column(self, step: int, name: str = "grad_l2") -> dict[str, float]:
        """Values of one column of table ``tensors``, by parameter name."""
        names = self.names
        return {
            names[row].name: value
            for block in self.records
            if isinstance(block, Block) and block.step == step and name in block.values
            for row, value in zip(
                block.ids.tolist(), block.values[name].tolist(), strict=True
            )
        }

    def ledger(self, step: int) -> list[LedgerEntry]:
        found = (each for each in self.records if isinstance(each, LedgerEntry))
        return [each for each in found if each.step == step]

    def ops(self, step: int) -> list[str]:
        return [each.op for each in self.ledger(step)]


def true_norms(model: Any) -> dict[str, float]:
    """Compute each gradient's norm anew, one by one, in float64."""
    return {
        name: parameter.grad.to_dense().double().norm().item()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }


class Names(TorchDispatchMode):
    """Remembers the names of the operations that are dispatched within it."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))
