"""Gradients of every trainable tensor: L2 norm and largest magnitude, every step."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading, Result, Tensors
from ftlab.probes.tensors.reductions import Alike, l2_norms
from ftlab.records.step import Block, Column


class Gradients(Probe):
    """Norms of the accumulated gradients before clipping, in true scale.

    ``grad_l2_after`` appears only where the gradients were written to after that by
    something that is neither a clipping function nor a scaler.
    """

    name = "gradients"
    table = "tensors"
    columns = (
        Column("has_grad", "1", "1 where the parameter received a gradient, else 0."),
        Column("grad_l2", "1", "L2 norm of the gradient before clipping."),
        Column("grad_max", "1", "Largest magnitude in the gradient before clipping."),
        Column("grad_l2_after", "1", "L2 norm at the update, where it was changed."),
    )

    def __init__(self) -> None:
        self._tensors: Tensors | None = None
        self._alike = Alike(())

    def on_gradients(self, moment: Moment) -> Iterator[Reading]:
        """Queue both norms of all gradients."""
        if not moment.tensors.parameters:
            return
        gradients = [each.grad for each in moment.tensors.parameters]
        has_grad = np.array([each is not None for each in gradients], np.float32)
        if moment.tensors is not self._tensors:
            self._tensors = moment.tensors
            self._alike = Alike(moment.tensors.parameters)
        values, inverse = self._alike.l2_and_max(gradients), moment.inverse_scale
        if isinstance(inverse, torch.Tensor):  # comparing it would wait for the device
            values = values * inverse.to(values.device)
        ids, step = moment.tensors.ids, moment.step

        def finish(values: NDArray[np.float32]) -> Iterator[Result]:
            grad_l2, grad_max = values.reshape(2, -1)
            columns = {"has_grad": has_grad, "grad_l2": grad_l2, "grad_max": grad_max}
            yield Block(self.table, step, ids, columns)
            present = grad_l2[has_grad > 0].astype(np.float64)
            if len(present):
                yield {"grad_norm": float(np.sqrt(np.sum(present * present)))}

        yield Reading(values.view(-1), finish)

    def before_update(self, moment: Moment) -> Iterator[Reading]:
        """Queue the norm again where something unknown has changed the gradients."""
        if not moment.changed:
            return
        gradients = [each.grad for each in moment.tensors.parameters]
        values, inverse = l2_norms(gradients), moment.inverse_scale
        if isinstance(inverse, torch.Tensor):
            values = values * inverse.to(values.device)
        ids, step = moment.tensors.ids, moment.step

        def finish(values: NDArray[np.float32]) -> Iterator[Result]:
            yield Block(self.table, step, ids, {"grad_l2_after": values})

        yield Reading(values, finish)
