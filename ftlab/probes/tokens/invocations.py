"""How many rows of each step hold the tokens that wake an activated LoRA (aLoRA).

Such an adapter is at work from its invocation tokens on. A row without them runs the
base model alone, with a gradient of exactly 0.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.adapter.adapter_tree import Holder, holders
from ftlab.probes.files.adapter_file_facts import active_adapters
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.tokens.batch import batch_fields
from ftlab.records.step import Column

FIELD = "alora_invocation_tokens"


class Invocations(Probe):
    """Count the rows that hold the invocation tokens of the active adapter."""

    light = False
    columns = (
        Column("alora_rows", "1", "Rows that an aLoRA adapter was to learn from."),
        Column("alora_invoked", "1", "Those that hold its invocation tokens."),
    )

    def __init__(self) -> None:
        self._holders: list[Holder] | None = None
        self._rows = 0
        self._invoked: list[torch.Tensor] = []

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Count one micro-batch, on its device."""
        if self._holders is None:
            known = holders(moment.subject.model)
            self._holders = [
                h for h in known if any(map(tokens_of, h.configs.values()))
            ]
        self.rests = not self._holders
        tokens = _active_tokens(self._holders)
        ids = batch_fields(inputs).get("input_ids") if tokens else None
        if ids is not None and ids.dim() == 2:
            self._rows += ids.shape[0]
            self._invoked.append(_count(ids, tokens))
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over the sums of the step."""
        rows, self._rows = self._rows, 0
        invoked, self._invoked = self._invoked, []
        if not rows:
            return ()

        def finish(read: NDArray[np.float32]) -> Iterable[dict[str, float]]:
            yield {"alora_rows": float(rows), "alora_invoked": float(read.sum())}

        counts = [each.to(invoked[0].device) for each in invoked]
        return (Reading(torch.stack(counts), finish),)


def tokens_of(config: Any) -> list[int]:
    """Return the invocation tokens of a configuration; empty where it has none."""
    return list(getattr(config, FIELD, None) or ())


def invocation_facts(config: Any, owner: torch.nn.Module) -> dict[str, Any]:
    """Describe an activated LoRA; empty for other adapters.

    Returns
    -------
    dict
        ``tokens``, and the ``caller``: the class that holds the adapter, if it does not
        tell the layers where the tokens are, as PEFT's class for causal models does.
    """
    tokens = tokens_of(config)
    if not tokens:
        return {}
    from peft import PeftModelForCausalLM

    tells = isinstance(owner, PeftModelForCausalLM)
    return {"tokens": tokens, "caller": "" if tells else type(owner).__name__}


def _active_tokens(known: Iterable[Holder]) -> list[int]:
    for holder in known:
        active = active_adapters(holder.module)
        if len(active) == 1:
            return tokens_of(holder.configs.get(active[0]))
    return []


def _count(ids: torch.Tensor, tokens: list[int]) -> torch.Tensor:
    if ids.shape[1] < len(tokens):
        return torch.zeros((), device=ids.device)
    wanted = torch.tensor(tokens, device=ids.device, dtype=ids.dtype)
    found = (ids.unfold(1, len(tokens), 1) == wanted).all(-1).any(-1)
    return found.sum(dtype=torch.float32)
