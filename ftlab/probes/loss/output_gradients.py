"""How large the gradient is where the loss hands it to the model, on due steps.

Where it is exactly 0 there, the loss does not depend on what the model puts out, and
nothing within the model has made the zeros of its weights.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.dynamo_private import leave_to_python
from ftlab.probes.graph.flow_calls import floats_in
from ftlab.probes.graph.module_hook import ModuleHook
from ftlab.probes.hooked import HookedProbe
from ftlab.probes.inventory import hookable_modules
from ftlab.probes.probe import Moment, Reading
from ftlab.probes.schedule import every
from ftlab.probes.taps.forward import innermost
from ftlab.probes.taps.listener import shield
from ftlab.records.step import Column


class OutputGradients(HookedProbe):
    """Measure the gradient of what the model puts out, but for the loss itself."""

    columns: ClassVar[Sequence[Column]] = (
        Column("output_grad", "1", "Largest gradient where the loss meets the model."),
    )

    def __init__(self, interval: int = 16) -> None:
        super().__init__()
        self.schedule = every(interval)
        self._step = -1
        self._largest: list[torch.Tensor] = []
        self._told = shield(self._look, self._fail)

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Look at the output of the pass that begins."""
        if self._step != moment.step:
            self._hooks.remove()
            self._step, self._largest = moment.step, []
            root = innermost(moment.subject.model)
            if any(module is root for _, module in hookable_modules(root)):
                see = ModuleHook(self.see, root, "")
                self._hooks.add(root.register_forward_hook(see))
        return ()

    def see(self, _path: str, output: Any) -> None:
        """Wait for the gradients of all outputs that are more than one number."""
        for each in floats_in(output):
            if each.requires_grad and each.numel() > 1:
                self._hooks.add(each.register_hook(self._told))

    def _look(self, gradient: torch.Tensor | None) -> None:
        if gradient is not None:  # torch.compile hands over none for what is not used
            largest = torch.linalg.vector_norm(gradient.detach(), torch.inf)
            self._largest.append(largest.float())

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over the largest of the passes so far; the last reading counts."""
        self._raise_failure()
        if self._step != moment.step or not self._largest:
            return ()
        device = self._largest[0].device
        values = torch.stack([each.to(device) for each in self._largest]).amax()
        return (Reading(values.reshape(1), _row),)

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Take the hooks off and let go of what was measured."""
        self._hooks.remove()
        self._largest = []
        return {}


def _row(values: NDArray[np.float32]) -> Iterable[dict[str, float]]:
    yield {"output_grad": float(values[0])}


leave_to_python(OutputGradients.see)
