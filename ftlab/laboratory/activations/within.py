"""Hooks on blocks and parts of a model, for one forward."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch

from ftlab.executions.tokens import Grid
from ftlab.laboratory.activations import (
    attention,
    gated,
    low_rank,
    norms,
    rotary,
    whole,
)
from ftlab.laboratory.activations.causality import is_due, trace
from ftlab.laboratory.activations.component import (
    Registered,
    Site,
    checks,
    first_tensor as first,
)
from ftlab.laboratory.activations.counterpart import Counterpart, Counterparts
from ftlab.laboratory.activations.depth import blocks_in, described, units_of
from ftlab.laboratory.activations.hearing import Hearing, rms_of
from ftlab.probes.naming import clean_name
from ftlab.records.activation import BlockActivations, PartFault
from ftlab.records.errors import BadValueError
from ftlab.records.handle import HandleStack
from ftlab.records.places import place_of

PARTS = (attention, gated, low_rank, norms, rotary, whole)
"""Modules that register the checks of parts as they are loaded."""


class Within:
    """Hears a forward: its blocks, its parts, and the projections of attention."""

    def __init__(
        self,
        model: torch.nn.Module,
        batch: Mapping[str, Any],
        pairs: Counterparts,
        fresh: bool,
    ) -> None:
        self.model = model
        self.grid = Grid.of(batch)
        self._suspects = pairs.suspects()
        due = is_due(batch, model, pairs.foreign)
        self.causal = due and bool(pairs.foreign or self._suspects)
        self.faults: list[PartFault] = []
        self.parts: Counter[str] = Counter()
        self.traces: dict[str, torch.Tensor] = {}
        self._failed: list[str] = []
        self._hearing = Hearing(self.grid)
        self._pairs, self._fresh = pairs, fresh
        self._rows: dict[str, BlockActivations] = {}
        self._blocks = blocks_in(model)
        self._sizes: dict[str, dict[str, float]] = {}
        held = (getattr(m, "peft_config", None) for m in model.modules())
        told = next((each for each in held if isinstance(each, Mapping)), {}).items()
        self._starts = {n: getattr(e, "init_lora_weights", None) for n, e in told}

    @property
    def failed(self) -> list[str]:
        """What could not be checked, and why."""
        return [*self._failed, *self._hearing.failed]

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Put hooks on for one forward."""
        with self.tracing() as handles, self._hearing:
            for path, module in self.model.named_modules():
                if "gelu" in type(module).__name__.lower():
                    before, after = self._set("gelu", True), self._set("gelu", False)
                    handles.add(module.register_forward_pre_hook(before))
                    handles.add(module.register_forward_hook(after))
                for check, pair in self._checks_of(path, module):
                    self.parts[check.name] += 1
                    if check.name == "attention" and not (pair and pair.fits()):
                        self._projections(path, module, handles)
                    hook = partial(self._check, path, check, pair)
                    handles.add(module.register_forward_hook(hook, with_kwargs=True))
            for path, block in self._blocks.items():
                handles.add(block.register_forward_pre_hook(partial(self._enter, path)))
                handles.add(block.register_forward_hook(partial(self._leave, path)))
            yield

    @contextlib.contextmanager
    def tracing(self) -> Iterator[HandleStack]:
        """Take the traces of all blocks anew."""
        handles = HandleStack()
        self.traces = {}
        for path, block in self._blocks.items() if self.causal else ():
            handles.add(block.register_forward_hook(partial(self._trace, path)))
        try:
            yield handles
        finally:
            handles.remove()

    def blocks(self) -> Iterator[BlockActivations]:
        """Yield what each block was like, in the order of the forward."""
        for path, row in self._rows.items():
            told = dict(units_of(self._hearing.units.get(path, ())))
            entropies = self._hearing.entropies.get(path)
            if entropies:
                told["entropy"] = sum(entropies) / len(entropies)
            values = {name: getattr(row, name) for name in row.__slots__}
            yield BlockActivations(**{**values, **told})

    def _checks_of(
        self, path: str, module: torch.nn.Module
    ) -> Iterator[tuple[Registered, Counterpart | None]]:
        """Yield users' own checks, LoRA's, and the first other built-in one."""
        known, suspect = self._pairs.get(path), self._suspects.get(path)
        checked = suspect is not None or (
            known is None and not Site(path, module).of_library
        )
        for each in checks():
            pair = known if each.own else suspect
            pair = None if each.name == "LoRA" else pair
            if not (each.own or each.name == "LoRA" or checked):
                continue
            if each.is_for(Site(path, module, library=pair)):
                yield each, pair
                checked = checked and (each.own or each.name == "LoRA")

    def _check(
        self, path: str, check: Registered, pair: Counterpart | None, *called: Any
    ) -> None:
        module, args, kwargs, output = called
        if not self._hearing.hearing:
            return
        site = Site(
            clean_name(path) or "the model",
            module,
            tuple(_uncached(each) for each in args),
            {key: _uncached(value) for key, value in kwargs.items()},
            output,
            pair,
            check.name,
            self._fresh,
            self.grid,
            {"starts": self._starts, "scale": self._scale(path)},
        )
        self._hearing.hearing = False
        try:
            found: list[Any] = list(check.check(site))
            other = [each for each in found if not isinstance(each, PartFault)]
            if other:
                msg = f"it yields {other[0]!r}, no fault; yield site.fault(said, fix)"
                raise BadValueError(msg)
            self.faults += found
            if pair is not None and not found and not pair.fits():
                said = f"its parts are not those of {type(pair.module).__name__}"
                self._failed.append(f"{site.path} beside the library's: {said}")
        except Exception as error:  # noqa: BLE001  a part of its own kind: told
            said = f"{type(error).__name__}: {str(error)[:120]}"
            self._failed.append(f"{check.name} of {site.path} ({said})")
        finally:
            self._hearing.hearing = True

    def _scale(self, path: str) -> tuple[float, int]:
        """Return what scores are over products of the projections, and the width.

        Queries may be scaled before the product; positions and heads that are turned or
        repeated change no RMS.
        """
        heard, sizes = self._hearing.scales.get(path), self._sizes.get(path, {})
        if heard is None or not all(sizes.get(each) for each in "qk"):
            return float("nan"), 0
        scale, width, query, key = heard
        return scale * query / sizes["q"] * key / sizes["k"], width

    def _projections(self, path: str, module: Any, handles: HandleStack) -> None:
        """Hear the sizes of queries and keys, where nothing norms them after that."""
        inner = dict(module.named_children())
        places = {
            name: place_of(f"attention.{name}").rpartition(".")[2] for name in inner
        }
        normed = any("norm" in name.lower() for name in inner)
        for name in inner if not normed else ():
            if places[name] in ("q", "k") and isinstance(inner[name], torch.nn.Linear):
                hook = partial(self._size, path, places[name])
                handles.add(inner[name].register_forward_hook(hook))
        handles.add(module.register_forward_pre_hook(self._set("module", path)))

    def _size(self, path: str, name: str, _module: Any, _args: Any, out: Any) -> None:
        if self._hearing.hearing:
            self._sizes.setdefault(path, {})[name] = rms_of(out)

    def _set(self, name: str, value: Any) -> Callable[..., None]:
        return lambda *_: setattr(self._hearing, name, value)

    def _enter(self, path: str, _module: Any, args: Any) -> None:
        if self._hearing.hearing:
            self._hearing.block = path
            if not self._rows and args:
                self._describe("", "input", args)

    def _leave(self, path: str, _module: Any, _args: Any, output: Any) -> None:
        if self._hearing.hearing:
            self._hearing.block = self._hearing.module = ""
            self._describe(path, place_of(clean_name(path)), output)

    def _describe(self, path: str, place: str, value: Any) -> None:
        before = next(reversed(self._rows.values())).rms if self._rows else 0.0
        with contextlib.suppress(ValueError, IndexError, RuntimeError):
            self._rows[path] = described(place, first(value), self.grid, before)

    def _trace(self, path: str, _module: Any, _args: Any, output: Any) -> None:
        if self._hearing.hearing:
            with contextlib.suppress(ValueError):
                self.traces[path] = trace(first(output))


def _uncached(value: Any) -> Any:
    return None if hasattr(value, "get_seq_length") else value
