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
        """Write into the ledger how many prompts end in padding, or with an end."""
        step = self._steps.now
        at, count = self._generations
        count = count + 1 if at == step.step else 1
        self._generations = (step.step, count)
        if count > LOOKED_AT:
            return
        with contextlib.suppress(Exception):  # generate says itself what is wrong
            if not any(each is owner for each in self._steps.subject.model.modules()):
                return
            last = last_tokens(owner, given)
            if last is None:
                return
            known = {"call": count - 1, "rows": len(last[0]), "width": _width(given)}
            entry = step.ledger.add("generate", "model", **known)
            found = [(each.sum(), each.int().argmax()) for each in last]
            ids = _prompts(given)[:, -1]
            end = ids[found[1][1]]
            values = torch.stack([*found[0], *found[1], end]).float()

            def finish(read: Any) -> tuple[()]:
                behind, first, ended, at, number = map(int, read)
                if behind:
                    entry["detail"] |= {"end_in_padding": behind, "first": first}
                if ended:
                    entry["detail"] |= {"ended": ended, "at": at, "end": number}
                return ()

            step.keep(("generate", str(count)), [Reading(values, finish)])


def last_tokens(
    model: Any, given: Mapping[str, Any]
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Tell of each prompt whether its last column is padding, or an end.

    Returns
    -------
    tuple of torch.Tensor or None
        Two of bool [rows]; ``None`` where nobody can tell, or where it does not matter:
        an encoder reads all columns. A prompt of one token ends with nothing: it may be
        the token that begins and ends texts.
    """
    ids = _prompts(given)
    if getattr(model.config, "is_encoder_decoder", False):
        return None
    if not isinstance(ids, torch.Tensor) or ids.dim() != 2 or not ids.numel():
        return None
    config = given.get("generation_config") or model.generation_config
    padding = given.get("pad_token_id", config.pad_token_id)
    told = given.get("eos_token_id", config.eos_token_id)
    several = told if isinstance(told, list) else [told]
    ends = [each for each in several if each is not None]
    seen = given.get("attention_mask")
    if not isinstance(seen, torch.Tensor):
        if len(ids) > 1 and (padding is None or padding in ends):
            return None
        seen = torch.ones_like(ids) if len(ids) == 1 else ids != padding
    if seen.shape != ids.shape:
        return None
    hidden = seen[:, -1] == 0
    long = (seen != 0).sum(1) > 1
    return hidden, torch.isin(ids[:, -1], ids.new_tensor(ends)) & long & ~hidden


def _prompts(given: Mapping[str, Any]) -> Any:
    return given.get("input_ids", given.get("inputs"))


def _width(given: Mapping[str, Any]) -> int:
    return int(_prompts(given).shape[1])
