"""Hears the watched model generate, and looks at what the prompts end with.

A decoder reads the next token from the last column of a batch. What stands there is
learnt as transformers itself learns it before it warns: from the attention mask, or,
without one, from the id of the padding, unless a text may end with the same id.
"""

import contextlib
from collections.abc import Mapping
from typing import Any

import torch

from ftlab.probes.probe import Reading
from ftlab.probes.stepping.steps import Steps

LOOKED_AT = 4
"""Generations of one step that are looked at."""


class GenerationWork:
    """What a loop hears of generations; see `ftlab.probes.stepping.loop.Loop`."""

    _steps: Steps

    def __init__(self) -> None:
        self._generations = (-1, 0)

    def before_generation(self, owner: Any, given: Mapping[str, Any]) -> None:
        """Write into the ledger how many prompts end in padding."""
        step = self._steps.now
        at, count = self._generations
        count = count + 1 if at == step.step else 1
        self._generations = (step.step, count)
        if count > LOOKED_AT:
            return
        with contextlib.suppress(Exception):  # generate says itself what is wrong
            if not any(each is owner for each in self._steps.subject.model.modules()):
                return
            hidden = ends_hidden(owner, given)
            if hidden is None:
                return
            known = {"call": count - 1, "rows": len(hidden), "width": _width(given)}
            entry = step.ledger.add("generate", "model", **known)
            values = torch.stack([hidden.sum(), hidden.int().argmax()]).float()

            def finish(read: Any) -> tuple[()]:
                if read[0] > 0:
                    entry["detail"]["end_in_padding"] = int(read[0])
                    entry["detail"]["first"] = int(read[1])
                return ()

            step.keep(("generate", str(count)), [Reading(values, finish)])


def ends_hidden(model: Any, given: Mapping[str, Any]) -> torch.Tensor | None:
    """Tell of each prompt whether its last column is padding.

    Returns
    -------
    torch.Tensor or None
        bool [rows]; ``None`` where nobody can tell, or where it does not matter: an
        encoder reads all columns.
    """
    ids = _prompts(given)
    if getattr(model.config, "is_encoder_decoder", False):
        return None
    if not isinstance(ids, torch.Tensor) or ids.dim() != 2 or not ids.numel():
        return None
    mask = given.get("attention_mask")
    if isinstance(mask, torch.Tensor):
        return mask[:, -1] == 0 if mask.shape == ids.shape else None
    config = given.get("generation_config") or model.generation_config
    padding = given.get("pad_token_id", config.pad_token_id)
    ends = given.get("eos_token_id", config.eos_token_id)
    if padding is None or padding in (ends if isinstance(ends, list) else [ends]):
        return None
    return ids[:, -1] == padding


def _prompts(given: Mapping[str, Any]) -> Any:
    return given.get("input_ids", given.get("inputs"))


def _width(given: Mapping[str, Any]) -> int:
    return int(_prompts(given).shape[1])
