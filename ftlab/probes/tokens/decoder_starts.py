"""What the decoder of an encoder-decoder is given first: a fact for the rules.

Such a model puts a start token in front of labels by itself, some at the beginning and
some (mBART) what stood at the end. So the ids are read where they go into the decoder.
Written down are the first two ids of some rows, the id that a generation begins with,
and which of them no text can make.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.graph.module_hook import ModulePreHook
from ftlab.probes.inventory import hookable_modules
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import Samples
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tokens.batch_limits import called
from ftlab.probes.tokens.piece_names import piece_names
from ftlab.probes.tokens.row_samples import special_ids
from ftlab.records.event import Event
from ftlab.records.handle import Handle, HandleStack

FIRST = 2
"""Ids of a row that are kept."""


class DecoderStarts(Probe):
    """Write down with which ids the decoder begins, at first and then seldom."""

    light = False
    rows: ClassVar[int] = 16
    """Rows of one step that are looked at."""

    def __init__(self, interval: int = 16) -> None:
        self._due = Samples(8 * interval)
        self._hooks = HandleStack()
        self._tokenizer: Any = None
        self._decoder: torch.nn.Module | None = None
        self._composed = False
        self._start = -1
        self._control: Collection[int] = ()
        self._step = -1
        self._micro = 0
        self._held: list[tuple[int, torch.Tensor]] = []
        self._waits = False

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Take the hooks off at the end."""
        self._tokenizer, self._step, self._held = subject.tokenizer, -1, []
        self._decoder = _decoder(subject.model)
        self._composed = _composed(subject.model)
        self._start = start_of(subject.model)
        self._control = special_ids(self._tokenizer, subject.model).get("control", ())
        return [self._hooks]

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Look at the decoder's inputs in the pass that begins, when it is due."""
        self._hooks.remove()
        if not self._due(moment.step):
            return ()
        if self._step != moment.step:
            self._step, self._micro, self._held = moment.step, -1, []
        self._micro += 1
        decoder = self._decoder
        if decoder is not None and sum(len(each) for _, each in self._held) < self.rows:
            self._waits = True
            hook = ModulePreHook(partial(self.see, self._micro), decoder, "")
            handle = decoder.register_forward_pre_hook(hook, with_kwargs=True)
            self._hooks.add(handle)
        return ()

    def see(self, micro: int, _: str, inputs: tuple[Any, ...]) -> None:
        """Copy the first ids, once per pass."""
        waits, self._waits = self._waits, False
        ids = next((each for each in inputs if _are_ids(each)), None)
        if waits and ids is not None:
            room = self.rows - sum(len(each) for _, each in self._held)
            self._held.append((micro, ids.detach()[:room, :FIRST].float()))

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Take the hooks off and hand over the ids of all micro-batches."""
        self._hooks.remove()
        held, step = [*self._held], moment.step
        if self._step != step or not held:
            return ()
        micros = [(micro, row) for micro, each in held for row in range(len(each))]
        device = held[0][1].device
        flat = torch.cat([each.flatten().to(device) for _, each in held])

        def finish(read: NDArray[np.float32]) -> Iterator[Event]:
            ids = read.astype(np.int64).reshape(-1, FIRST).tolist()
            yield self._told(micros, ids, step)

        return (Reading(flat, finish),)

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of the rows."""
        self._held = []
        return {}

    def _told(
        self, places: list[tuple[int, int]], ids: list[list[int]], step: int
    ) -> Event:
        pairs = zip(places, ids, strict=True)
        rows = [[micro, row, *each] for (micro, row), each in pairs]
        named = sorted({number for each in ids for number in each if number >= 0})
        pieces = piece_names(self._tokenizer, named)
        by_id = {str(number): piece for number, piece in pieces.items()}
        detail = {
            "rows": rows,
            "pieces": by_id,
            "composed": self._composed,
            "start": self._start,
            "control": [number for number in named if number in self._control],
        }
        words = f"the decoder's first ids of {len(rows)} rows were read"
        return Event("decoder", step, time.time(), words, detail)


def _decoder(model: torch.nn.Module) -> torch.nn.Module | None:
    """Return the decoder behind an encoder, where hooks can be put on it."""
    root = innermost(model)
    if getattr(getattr(root, "config", None), "is_encoder_decoder", False) is not True:
        return None
    found = called(root, "get_decoder")
    known = (each for _, each in hookable_modules(root))
    return next((each for each in known if each is found), None)


def _composed(model: torch.nn.Module) -> bool:
    """Tell whether the decoder was a model of its own, whose texts begin somehow."""
    config = getattr(getattr(innermost(model), "config", None), "decoder", None)
    return bool(getattr(config, "add_cross_attention", False))


def start_of(model: torch.nn.Module) -> int:
    """Return the id that a generation gives the decoder first, or -1."""
    root = innermost(model)
    for name in ("generation_config", "config"):
        start = getattr(getattr(root, name, None), "decoder_start_token_id", None)
        if type(start) is int:
            return start
    return -1


def _are_ids(value: object) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.dim() == 2
        and value.dtype in (torch.int64, torch.int32)
        and value.shape[1] >= FIRST
    )
