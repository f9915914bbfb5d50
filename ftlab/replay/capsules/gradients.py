"""The gradients that a step found: kept without a copy as long as that is possible."""

from collections.abc import Iterable

import torch

from ftlab.replay.capsules.kept import KeptTensor
from ftlab.replay.torch_private import bytes_of


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
    cleared
        Whether nothing was left of them when backward last began.
    """

    def __init__(
        self, parameters: Iterable[torch.nn.Parameter], *, copied: bool
    ) -> None:
        self.rewritten = False
        self.cleared = False
        self._kept: list[tuple[torch.nn.Parameter, KeptTensor | None]] = [
            (p, _kept(p.grad, copied=copied)) for p in parameters
        ]
        self._seen_backward = False
        self._copied = copied

    def include(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Keep the gradients of more parameters, before backward first runs."""
        known = {id(parameter) for parameter, _ in self._kept}
        more = [p for p in parameters if id(p) not in known and p.requires_grad]
        self._kept += [(p, _kept(p.grad, copied=self._copied)) for p in more]

    def before_backward(self) -> None:
        """Copy the gradients that backward is about to add to."""
        if self._seen_backward:
            return
        self._seen_backward = True
        still = [
            kept is not None and p.grad is kept.tensor and not kept.changed
            for p, kept in self._kept
        ]
        self.cleared = not any(still)
        for parameter, kept in self._kept:
            if kept is not None and parameter.grad is kept.tensor:
                self.rewritten |= kept.changed
                kept.copy_now()

    def drop(self) -> None:
        """Leave no gradient."""
        for parameter, _ in self._kept:
            parameter.grad = None

    def copy_all(self) -> None:
        """Copy what is still as it was, because somebody else will write into it."""
        for _, kept in self._kept:
            if kept is not None:
                kept.copy_now()

    @property
    def nbytes(self) -> int:
        """Bytes of the gradients that were found."""
        return sum(bytes_of(kept.tensor) for _, kept in self._kept if kept is not None)

    def current(self) -> list[torch.Tensor]:
        """Return the gradients as they are now."""
        return [p.grad for p, _ in self._kept if p.grad is not None]

    @property
    def kept(self) -> list[tuple[torch.nn.Parameter, torch.Tensor]]:
        """The gradients that there were at the start of the step."""
        return [(p, each.value) for p, each in self._kept if each is not None]

    def obstacle(self) -> str | None:
        """Say which gradient cannot be restored, if any."""
        for _, kept in self._kept:
            if kept is not None and kept.obstacle() is not None:
                return "gradients were changed in place before backward"
        return None

    def restore(self) -> None:
        """Give every parameter the gradient that it had."""
        self._seen_backward = False
        for parameter, kept in self._kept:
            if kept is not None:
                kept.restore()
            _give(parameter, None if kept is None else kept.tensor)


def _kept(gradient: torch.Tensor | None, *, copied: bool) -> KeptTensor | None:
    return None if gradient is None else KeptTensor("", gradient, copied=copied)


def _give(parameter: torch.nn.Parameter, gradient: torch.Tensor | None) -> None:
    """Set ``.grad``, also to one of another shape: resizing in place leaves such."""
    if gradient is None or gradient.shape == parameter.shape:
        parameter.grad = gradient
        return
    data = parameter.data
    parameter.data = torch.empty_like(gradient)  # torch compares shapes when it is set
    parameter.grad = gradient
    parameter.data = data
