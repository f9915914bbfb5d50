"""The size of what modules put out, on due steps (opt-in).

Who calls whom: the batch of a due step (`Activations.on_batch`) puts hooks on the
leaf-like modules, the end of the model's forward takes them off: what gradient
checkpointing computes again during backward is not counted twice, and forwards in
between run as if there were no probe. `Activations.on_gradients` hands over.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.dynamo_private import leave_to_python
from ftlab.probes.graph.module_hook import HooksOfAForward, ModuleHook
from ftlab.probes.hooked import HookedProbe
from ftlab.probes.naming import clean_name
from ftlab.probes.probe import Moment, Reading
from ftlab.probes.schedule import every
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tensors.reductions import l2_and_max
from ftlab.probes.torch_private import has_values
from ftlab.records.step import Block, Column

_SILENT = (
    torch.nn.Identity,
    torch.nn.Dropout,
    torch.nn.Dropout1d,
    torch.nn.Dropout2d,
    torch.nn.Dropout3d,
    torch.nn.AlphaDropout,
    torch.nn.FeatureAlphaDropout,
)
"""Modules whose output says nothing that their input does not."""


class Activations(HookedProbe):
    """Measure root mean square and largest magnitude of each leaf-like module's output.

    A PEFT layer counts as one module: its output is what the next module sees.
    """

    table: ClassVar[str] = "activations"
    columns: ClassVar[Sequence[Column]] = (
        Column("act_rms", "1", "Root mean square of the module's output."),
        Column("act_max", "1", "Largest magnitude in the module's output."),
    )
    _hooks: HooksOfAForward

    def __init__(self, interval: int = 16) -> None:
        super().__init__()
        self.schedule = every(interval)
        self._hooks = HooksOfAForward()
        self._step = -1
        self._seen: list[tuple[str, int, torch.Tensor]] = []

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Put a hook on each leaf-like module, and one on the model's end."""
        self._hooks.remove()
        if self._step != moment.step:
            self._step, self._seen = moment.step, []
        model = moment.subject.model
        root = innermost(model)
        for path, module in leaf_like(model):
            add = self._hooks.add_own if module is root else self._hooks.add
            hook = ModuleHook(self.measure, module, clean_name(path))
            add(module.register_forward_hook(hook))
        if self._hooks:
            end = ModuleHook(self.end, root, "")
            self._hooks.add_own(root.register_forward_hook(end, always_call=True))
        return ()

    def measure(self, path: str, output: Any) -> None:
        """Take one output; called by a hook, which must not raise in the model."""
        tensor = _first_tensor(output)
        if tensor is not None and self._error is None:
            try:
                self._seen.append((path, tensor.numel(), _size(tensor)))
            except Exception as error:  # noqa: BLE001  raised in on_gradients instead
                self._error = error

    def end(self, path: str, output: Any) -> None:
        """Take the hooks off, because the forward is over."""
        self._hooks.end()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over what the micro-batches so far showed; the last reading counts."""
        self._hooks.remove()
        self._raise_failure()
        if self._step != moment.step:
            return []
        devices = _by_device(self._seen)
        return [_read(moment, calls) for calls in devices.values()]

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of what was measured."""
        self._seen = []
        return {}


leave_to_python(Activations.measure)
leave_to_python(Activations.end)


def leaf_like(
    module: torch.nn.Module, path: str = ""
) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield modules without children, and PEFT's layers in place of their parts.

    A `torch.nn.TransformerEncoderLayer` in eval mode is left out: with a hook anywhere
    in it, torch computes it in another way, and the last bits of its output change.
    """
    if isinstance(module, torch.nn.TransformerEncoderLayer) and not module.training:
        return
    if isinstance(module, torch.jit.ScriptModule):  # takes no hooks
        return
    if _is_tuner_layer(module):
        yield path, module
        return
    children = list(module.named_children())
    for name, child in children:
        yield from leaf_like(child, f"{path}.{name}" if path else name)
    empty = isinstance(module, torch.nn.ModuleList | torch.nn.ModuleDict)
    if not children and not empty and not isinstance(module, _SILENT):
        yield path, module


def _is_tuner_layer(module: torch.nn.Module) -> bool:
    if "peft" not in sys.modules:
        return False
    from peft.tuners.tuners_utils import BaseTunerLayer

    return isinstance(module, BaseTunerLayer)


def _first_tensor(output: Any) -> torch.Tensor | None:
    """Find the first floating-point tensor of an output."""
    if isinstance(output, torch.Tensor):
        usable = output.is_floating_point() and output.numel() and has_values(output)
        return output.detach() if usable else None
    if isinstance(output, Mapping):
        output = tuple(output.values())
    if isinstance(output, tuple | list):
        found = (_first_tensor(entry) for entry in output)
        return next((tensor for tensor in found if tensor is not None), None)
    return None


def _size(tensor: torch.Tensor) -> torch.Tensor:
    """L2 norm and largest magnitude, accumulated in float32."""
    return l2_and_max([tensor]).flatten()


def _by_device(
    seen: list[tuple[str, int, torch.Tensor]],
) -> dict[torch.device, list[tuple[str, int, torch.Tensor]]]:
    calls: dict[torch.device, list[tuple[str, int, torch.Tensor]]] = {}
    for call in seen:
        calls.setdefault(call[2].device, []).append(call)
    return calls


def _read(moment: Moment, calls: list[tuple[str, int, torch.Tensor]]) -> Reading:
    """Merge all calls of each module into one row."""
    paths = dict.fromkeys(path for path, _, _ in calls)
    order = {path: place for place, path in enumerate(paths)}
    positions = [order[path] for path, _, _ in calls]
    sizes = np.bincount(positions, [size for _, size, _ in calls])
    names = [moment.name("activations", path, "module", {}) for path in order]
    ids, step = np.array(names, np.int32), moment.step

    def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
        norms, largest = flat.reshape(-1, 2).astype(np.float64).T
        squares, maxima = np.zeros(len(ids)), np.zeros(len(ids))
        np.add.at(squares, positions, norms**2)
        with np.errstate(invalid="ignore"):
            np.maximum.at(maxima, positions, largest)
        columns = {"act_rms": np.sqrt(squares / sizes), "act_max": maxima}
        values = {name: column.astype(np.float32) for name, column in columns.items()}
        yield Block(Activations.table, step, ids, values)

    return Reading(torch.cat([value for _, _, value in calls]), finish)
