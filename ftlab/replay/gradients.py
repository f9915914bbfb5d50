"""The gradients that a step found: kept without a copy as long as that is possible."""

from collections.abc import Iterable

import torch

from ftlab.replay.kept import KeptTensor


class KeptGradients:
    """``.grad`` of the trainable parameters at the start of a step.

    A loop that zeroes first replaces its gradients, so holding the old tensors is
    enough. Under accumulation backward adds in place: `before_backward` copies what is
    then still there, and only that. A loop that zeroes in place (``set_to_none=False``)
    destroys them earlier; it needs copies from the start.

    Attributes
    ----------
    rewritten
        Whether the step wrote into a gradient before backward did.
    """

    def __init__(
        self, named: Iterable[tuple[str, torch.nn.Parameter]], *, copied: bool
    ) -> None:
        self.rewritten = False
        self._kept: list[tuple[torch.nn.Parameter, KeptTensor | None]] = [
            (p, _kept(name, p.grad, copied=copied)) for name, p in named
        ]
        self._seen_backward = False

    def before_backward(self) -> None:
        """Copy the gradients that backward is about to add to."""
        if self._seen_backward:
            return
        self._seen_backward = True
        for parameter, kept in self._kept:
            if kept is not None and parameter.grad is kept.tensor:
                self.rewritten |= kept.changed
                kept.copy_now()

    def obstacle(self) -> str | None:
        """Say which gradient cannot be restored, if any."""
        for _, kept in self._kept:
            if kept is not None and kept.obstacle() is not None:
                return f"{kept.name} was changed in place before backward"
        return None

    def restore(self) -> None:
        """Give every parameter the gradient that it had."""
        self._seen_backward = False
        for parameter, kept in self._kept:
            if kept is not None:
                kept.restore()
            parameter.grad = None if kept is None else kept.tensor


def _kept(
    name: str, gradient: torch.Tensor | None, *, copied: bool
) -> KeptTensor | None:
    if gradient is None:
        return None
    return KeptTensor(f"the gradient of {name}", gradient, copied=copied)
