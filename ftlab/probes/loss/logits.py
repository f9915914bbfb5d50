"""What a model's logits look like: how large, how far apart, how sure.

Who calls whom: the batch of a due step (`Logits.on_batch`) puts hooks on the model and
its head, the end of the model's forward takes them off; where it raises, the next batch
does. Of each training forward some positions are looked at, chosen and reduced on the
device; `Logits.on_gradients` hands over. A loss that is fused with the head makes no
logits: then nothing is measured.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.dynamo_private import leave_to_python
from ftlab.probes.graph.module_hook import ModuleHook
from ftlab.probes.hooked import HookedProbe
from ftlab.probes.inventory import hookable_modules
from ftlab.probes.probe import Moment, Reading
from ftlab.probes.schedule import every
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tokens.batch import IGNORED_LABEL, batch_fields
from ftlab.probes.torch_private import has_values
from ftlab.records.attributes import attribute_of
from ftlab.records.step import Column

POSITIONS, ELEMENTS = 32, 2**18
"""Positions of a micro-batch that are looked at, at most, and logits in all of them."""

MASKED = -6e4
"""Logits below are masks: -inf, the smallest number of a dtype, -1e9."""


class Logits(HookedProbe):
    """Measure the logits of a sample of positions, with a label where there are any."""

    columns: ClassVar[Sequence[Column]] = (
        Column("logit_max", "1", "Largest magnitude among the sampled logits."),
        Column("logit_spread", "1", "Largest logit over the mean, of a position."),
        Column("entropy", "nats", "Entropy of the softmax, mean over positions."),
        Column("top_probability", "1", "Largest probability, mean over positions."),
        Column("vocabulary", "1", "Logits of one position: tokens or classes."),
    )

    def __init__(self, interval: int = 16) -> None:
        super().__init__()
        self.schedule = every(interval)
        self._step = -1
        self._seen: list[tuple[int, torch.Tensor]] = []
        self._head: tuple[int, torch.Tensor] | None = None
        self._counted: torch.Tensor | None = None

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Put a hook on the model's end, and one on its head."""
        self._hooks.remove()
        if self._step != moment.step:
            self._step, self._seen = moment.step, []
        root = innermost(moment.subject.model)
        self._head, self._counted = None, counted_positions(inputs, root)
        known = {id(module) for _, module in hookable_modules(root)}
        if id(root) not in known or isinstance(root, torch.nn.TransformerEncoderLayer):
            return ()
        head = _head_of(root)
        if head is not None and head is not root and id(head) in known:
            see = ModuleHook(self.see_head, head, "")
            self._hooks.add(head.register_forward_hook(see))
        end = ModuleHook(self.end, root, "")
        self._hooks.add(root.register_forward_hook(end))
        return ()

    def see_head(self, _path: str, output: Any) -> None:
        """Measure what the head puts out; a hook must not raise in the model."""
        self._head = self._measure(output)

    def end(self, _path: str, output: Any) -> None:
        """Measure what the model puts out, the forward being over."""
        self._hooks.remove()
        found = self._measure(logits_in(output)) or self._head
        self._head = self._counted = None
        if found is not None:
            self._seen.append(found)

    def _measure(self, logits: Any) -> tuple[int, torch.Tensor] | None:
        if self._error is not None or not _are_logits(logits):
            return None
        try:
            with torch.no_grad():
                sample = sampled(logits.detach(), self._counted)
                return logits.shape[-1], describe(sample)
        except Exception as error:  # noqa: BLE001  raised in on_gradients instead
            self._error = error
            return None

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over what the micro-batches so far showed; the last reading counts."""
        self._hooks.remove()
        self._raise_failure()
        if self._step != moment.step or not self._seen:
            return []
        widest = max(wide for wide, _ in self._seen)
        device = self._seen[0][1].device
        rows = [row.to(device) for wide, row in self._seen if wide == widest]
        names = [column.name for column in self.columns[:4]]

        def finish(flat: NDArray[np.float32]) -> Iterable[dict[str, float]]:
            table = flat.reshape(-1, 4)
            table = table[~np.isnan(table[:, 3])] if len(table) > 1 else table
            if not len(table):
                return
            values = [float(table[:, 0].max()), *table[:, 1:].mean(0).tolist()]
            found = dict(zip(names, values, strict=True))
            yield found | {"vocabulary": float(widest)}

        return [Reading(torch.cat(rows), finish)]

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of what was measured."""
        self._seen = []
        return {}


leave_to_python(Logits.see_head)
leave_to_python(Logits.end)


def logits_in(output: Any) -> Any:
    """Find the logits in what a model puts out; a bare tensor is taken for them."""
    if isinstance(output, torch.Tensor):
        return output
    if isinstance(output, Mapping):
        return output.get("logits")
    if isinstance(output, tuple) and not hasattr(output, "logits"):
        return next((each for each in output if _are_logits(each)), None)
    return getattr(output, "logits", None)


def counted_positions(
    inputs: Mapping[str, Any], model: torch.nn.Module
) -> torch.Tensor | None:
    """Mark the positions whose logits a label counts for; ``None`` if all may."""
    fields = batch_fields(inputs)
    labels, mask = fields.get("labels"), fields.get("attention_mask")
    if labels is not None and not labels.is_floating_point():
        counted = labels != IGNORED_LABEL
        if counted.dim() > 1 and attribute_of(model, "loss_type", "") == "ForCausalLM":
            counted = counted.roll(-1, -1)  # a position's label is the next token's
        return counted
    return None if mask is None else mask != 0


def sampled(logits: torch.Tensor, counted: torch.Tensor | None) -> torch.Tensor:
    """Take some positions, evenly spaced among those that count, in float32.

    What counts is known on the device only. Where nothing does the sample is NaN.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.logits import sampled
    >>> sampled(torch.eye(3), torch.tensor([False, True, False])).unique(dim=0)
    tensor([[0., 1., 0.]])
    """
    rows = logits.reshape(-1, logits.shape[-1])
    most = max(1, min(POSITIONS, ELEMENTS // rows.shape[1], len(rows)))
    if counted is None or counted.shape != logits.shape[:-1]:
        ranks = torch.arange(most, device=rows.device)
        return rows[ranks * len(rows) // most].float()
    places, some = spread_over(counted.flatten().to(rows.device), most)
    return torch.where(some, rows[places].float(), torch.nan)


def spread_over(counted: torch.Tensor, most: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Choose ``most`` of the marked places evenly, and tell whether one is marked.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.logits import spread_over
    >>> spread_over(torch.tensor([False, True, True, True]), 2)
    (tensor([1, 2]), tensor(True))
    """
    ranks = torch.arange(most, device=counted.device)
    through = counted.cumsum(0)
    places = torch.searchsorted(through, ranks * through[-1] // most + 1)
    return places.clamp(max=len(counted) - 1), through[-1] > 0


def unravelled(places: torch.Tensor, shape: Sequence[int]) -> tuple[torch.Tensor, ...]:
    """Return places in a flat tensor by dimension.

    ``torch.unravel_index`` brings the shape to the device, and waits for that.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.logits import unravelled
    >>> unravelled(torch.tensor([0, 5]), (2, 3))
    (tensor([0, 1]), tensor([0, 2]))
    """
    index = []
    for size in reversed(shape):
        index.append(places % size)
        places = places // size
    return tuple(reversed(index))


def describe(rows: torch.Tensor) -> torch.Tensor:
    """Give largest magnitude, spread, entropy and top probability, on the device.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.logits import describe
    >>> describe(torch.tensor([[0.0, 0.0], [9.0, -torch.inf]]))
    tensor([9.0000, 0.0000, 0.3466, 0.7500])
    """
    masked = rows < MASKED
    kept = rows.masked_fill(masked, 0.0)
    mean = kept.sum(1) / (~masked).sum(1)
    probabilities = rows.softmax(1)
    return torch.stack(
        [
            kept.abs().amax(),
            (rows.amax(1) - mean).mean(),
            torch.special.entr(probabilities).sum(1).mean(),
            probabilities.amax(1).mean(),
        ]
    )


def _head_of(root: torch.nn.Module) -> torch.nn.Module | None:
    find = attribute_of(root, "get_output_embeddings")
    try:
        head = find() if callable(find) else None
    except (AttributeError, NotImplementedError):
        return None
    return head if isinstance(head, torch.nn.Module) else None


def _are_logits(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.is_floating_point()
        and value.dim() > 1
        and value.shape[-1] > 1
        and value.numel() > 0
        and value.requires_grad
        and has_values(value)
    )
