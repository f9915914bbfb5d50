"""Which token each position of a prompt-tuned model is taught, read from a gradient.

Virtual tokens stand in front, so that there are more positions than tokens. The
gradient of cross entropy is below 0 at the target alone: it tells which token that was,
and so whether a loss of one's own has cut the logits where they begin or where they
end.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.adapter.adapter_tree import holders
from ftlab.probes.graph.flow_calls import floats_in
from ftlab.probes.graph.module_hook import ModuleHook
from ftlab.probes.hooked import HookedProbe
from ftlab.probes.inventory import hookable_modules
from ftlab.probes.probe import Moment, Reading
from ftlab.probes.schedule import every
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tokens.batch import batch_fields
from ftlab.records.attributes import attribute_of
from ftlab.records.step import Column


class PromptTargets(HookedProbe):
    """Count how many targets stand where they belong, and how many before that."""

    light = False
    columns: ClassVar[Sequence[Column]] = (
        Column("prompt_targets", "1", "Positions with a target, as gradients tell."),
        Column("prompt_targets_right", "1", "Share that predicts the next token."),
        Column("prompt_targets_early", "1", "Share taught what comes a prompt later."),
    )

    def __init__(self, interval: int = 16) -> None:
        super().__init__()
        self._due = every(interval)
        self._ids: torch.Tensor | None = None
        self._counts: list[torch.Tensor] = []

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Look at the output of the pass that begins, when the step is due."""
        self._hooks.remove()
        ids = batch_fields(inputs).get("input_ids")
        if not self._due(moment.step) or ids is None or ids.dim() != 2:
            return ()
        model = innermost(moment.subject.model)
        tokens = _virtual_tokens(model)
        self.rests = not tokens
        if tokens and any(each is model for _, each in hookable_modules(model)):
            self._ids = ids
            hook = ModuleHook(partial(self.see, tokens), model, "")
            self._hooks.add(model.register_forward_hook(hook))
        return ()

    def see(self, tokens: int, _: str, output: Any) -> None:
        """Wait for the gradient of the logits, once per batch."""
        ids, self._ids = self._ids, None
        if ids is None:
            return
        length = ids.shape[1] + tokens
        for each in floats_in(output):
            if each.dim() == 3 and each.shape[1] == length and each.requires_grad:
                look = partial(self._look, ids.detach(), tokens)
                self._hooks.add(each.register_hook(look))
                return

    def _look(self, ids: torch.Tensor, tokens: int, gradient: torch.Tensor) -> None:
        try:
            self._counts.append(_counts(ids, tokens, gradient.detach()))
        except Exception as error:  # noqa: BLE001  raised in on_gradients instead
            self._error = error

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Take the hooks off and hand over the counts of all micro-batches."""
        self._hooks.remove()
        self._raise_failure()
        counts, self._counts = self._counts, []
        return (Reading(torch.stack(counts).sum(0), _shares),) if counts else ()


def _shares(values: NDArray[np.float32]) -> Iterable[dict[str, float]]:
    right_all, right, early_all, early = values.tolist()
    if right_all and early_all:
        yield {
            "prompt_targets": max(right_all, early_all),
            "prompt_targets_right": right / right_all,
            "prompt_targets_early": early / early_all,
        }


def _virtual_tokens(model: torch.nn.Module) -> int:
    """Count the virtual tokens of the prompt that a PeftModel puts in front."""
    holder = next(iter(holders(model)), None)
    active = attribute_of(model, "active_adapter")
    if holder is None or holder.path or not isinstance(active, str):
        return 0
    config = holder.configs.get(active)
    tokens = getattr(config, "num_virtual_tokens", None)
    return tokens if isinstance(tokens, int) else 0


def _counts(ids: torch.Tensor, tokens: int, gradient: torch.Tensor) -> torch.Tensor:
    """Count targets, and those that fit, behind the prompt and at the very beginning.

    The token at ``t`` stands at ``t + tokens``, and is predicted one position before.
    """
    lowest, target = gradient.min(-1)
    taught = lowest < 0
    following, width = ids[:, 1:], ids.shape[1] - 1
    counts = []
    for begin in (tokens, 0):
        here = slice(begin, begin + width)
        known = taught[:, here]
        counts += [known.sum(), (known & (target[:, here] == following)).sum()]
    return torch.stack(counts).float()
