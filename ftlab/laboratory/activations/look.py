"""One forward of a batch, and what it shows of each block and part of a model.

Who calls whom: `look` pairs the model with the library's own modules, puts hooks on
blocks and on what is to be checked, and runs the batch. Each check is run in the hook
of its module, where what it was given is at hand, so that nothing is kept.
"""

import contextlib
import inspect
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ftlab.executions.pairs import evaluating
from ftlab.executions.tokens import Grid
from ftlab.laboratory.activations import (  # noqa: F401  they register their checks
    attention,
    causality,
    gated,
    low_rank,
    norms,
    rotary,
    whole,
)
from ftlab.laboratory.activations.component import (
    Registered,
    Site,
    checks,
    first_tensor,
)
from ftlab.laboratory.activations.counterpart import (
    Counterpart,
    Counterparts,
    is_library,
)
from ftlab.laboratory.activations.depth import blocks_in, described, units_of
from ftlab.laboratory.activations.hearing import Hearing, Size, size_of
from ftlab.laboratory.activations.initial import starts
from ftlab.laboratory.effects import unmoved
from ftlab.probes.naming import clean_name
from ftlab.records.activation import ActivationLook, BlockActivations, PartFault
from ftlab.records.errors import BadValueError
from ftlab.records.handle import HandleStack
from ftlab.records.places import place_of


def look(
    model: torch.nn.Module, batch: Mapping[str, Any], *, fresh: bool
) -> ActivationLook:
    """Run a batch, and leave the model as it was."""
    with unmoved(model, batch), evaluating(model), torch.no_grad():
        pairs = Counterparts.of(model)
        given = {**batch, **_without_cache(pairs, model, batch)}
        within = _Within(model, given, pairs, fresh)
        with within.listening(), within.hearing:
            _call(model, given)
        found = [*within.faults, *within.of_depth()]
        foreign = pairs.foreign
        if (foreign or within.suspects) and causality.is_due(given, model, foreign):
            found += _causal(within, given)
        parameters, wrong, unknown = starts(model, pairs, fresh=fresh)
    return ActivationLook(
        type(model).__name__,
        len(within.grid.rows) if within.grid else 0,
        tuple(within.blocks()),
        tuple(_together([*found, *wrong])),
        tuple(parameters),
        tuple(within.parts.items()),
        tuple(
            dict.fromkeys(
                [*pairs.remarks, *within.failed, *within.hearing.failed, *unknown]
            )
        ),
    )


def _call(model: torch.nn.Module, batch: Mapping[str, Any]) -> None:
    """Run the forward.

    Raises
    ------
    BadValueError
        It cannot be called with this batch.
    """
    try:
        model(**batch)
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        said = f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
        msg = (
            f"{type(model).__name__} cannot be called with this batch ({said}); pass "
            "what its forward takes: activations(model, next(iter(loader)))."
        )
        raise BadValueError(msg) from error


def _without_cache(
    pairs: Counterparts, model: torch.nn.Module, batch: Mapping[str, Any]
) -> dict[str, Any]:
    """Keep a model from filling a cache: a check would fill it a second time."""
    roots = [each for path, each in pairs.roots.items() if not path or _thin(model)]
    takes = any("use_cache" in inspect.signature(e.forward).parameters for e in roots)
    return {"use_cache": False} if takes and "use_cache" not in batch else {}


def _thin(model: torch.nn.Module) -> bool:
    """Say whether a wrapper hands on all arguments."""
    return type(model).__module__.startswith("peft.")


def _causal(within: "_Within", batch: Mapping[str, Any]) -> list[PartFault]:
    grid, before = within.grid, dict(within.traces)
    if grid is None or not len(grid.rows):
        return []
    within.traces.clear()
    with within.tracing():
        within.model(**causality.changed(batch, grid))
    dtype = next(within.model.parameters()).dtype
    return causality.leaks(before, within.traces, grid, dtype)


class _Within:
    """Hears a forward: blocks, parts, and the projections of attention."""

    def __init__(
        self,
        model: torch.nn.Module,
        batch: Mapping[str, Any],
        pairs: Counterparts,
        fresh: bool,
    ) -> None:
        self.model = model
        self.grid = Grid.of(batch)
        self.hearing = Hearing(self.grid)
        self.suspects = dict(pairs.suspects())
        self.faults: list[PartFault] = []
        self.failed: list[str] = []
        self.parts: Counter[str] = Counter()
        self.traces: dict[str, torch.Tensor] = {}
        self._pairs, self._fresh = pairs, fresh
        self._rows: dict[str, BlockActivations] = {}
        self._blocks = blocks_in(model)
        self._sizes: dict[str, dict[str, Size]] = {}
        adapters = (getattr(m, "peft_config", None) for m in model.modules())
        told = next((each for each in adapters if isinstance(each, Mapping)), {})
        self._starts = {
            name: getattr(each, "init_lora_weights", None)
            for name, each in told.items()
        }

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Put hooks on for one forward."""
        with self.tracing() as handles:
            for path, module in self.model.named_modules():
                if "gelu" in type(module).__name__.lower():
                    self._gelu(module, handles)
                for check, pair in self._checks_of(path, module):
                    self.parts[check.name] += 1
                    if check.name == "attention" and pair is None:
                        self._projections(path, module, handles)
                    hook = partial(self._check, path, check, pair)
                    handles.add(module.register_forward_hook(hook, with_kwargs=True))
            for path, block in self._blocks.items():
                handles.add(block.register_forward_pre_hook(partial(self._enter, path)))
                handles.add(block.register_forward_hook(partial(self._leave, path)))
            yield

    @contextlib.contextmanager
    def tracing(self) -> Iterator[HandleStack]:
        """Take the traces of all blocks."""
        handles = HandleStack()
        for path, block in self._blocks.items():
            handles.add(block.register_forward_hook(partial(self._trace, path)))
        try:
            yield handles
        finally:
            handles.remove()

    def _checks_of(
        self, path: str, module: torch.nn.Module
    ) -> Iterator[tuple[Registered, Counterpart | None]]:
        """Yield users' own checks, and the first built-in one."""
        known, suspect = self._pairs.get(path), self.suspects.get(path)
        own_code = known is None and not is_library(module)
        done = False
        for each in checks():
            if each.own and each.is_for(module, known):
                yield each, known
            elif each.own or done:
                continue
            elif each.name == "LoRA" and each.is_for(module, None):
                yield each, None
            elif (suspect or own_code) and each.is_for(module, suspect):
                done = True
                yield each, suspect

    def _check(
        self,
        path: str,
        check: Registered,
        pair: Counterpart | None,
        module: Any,
        args: Any,
        kwargs: Any,
        output: Any,
    ) -> None:
        if not self.hearing.hearing:
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
        self.hearing.hearing = False
        try:
            self.faults += check.check(site)
        except Exception as error:  # noqa: BLE001  a part of its own kind: told
            said = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
            self.failed.append(f"{check.name} of {site.path} ({said})")
        finally:
            self.hearing.hearing = True

    def _scale(self, path: str) -> tuple[float, int]:
        """Return what scores are over products of the projections."""
        heard, sizes = self.hearing.scores.get(path), self._sizes.get(path, {})
        if heard is None or sizes.keys() != {"q", "k"}:
            return float("nan"), 0
        return heard.over(sizes["q"], sizes["k"]), heard.width

    def _projections(self, path: str, module: Any, handles: HandleStack) -> None:
        """Hear the sizes of queries and keys, where nothing norms them after that."""
        places = {
            place_of(f"attention.{n}").rpartition(".")[2]: m
            for n, m in module.named_children()
        }
        normed = any("norm" in n.lower() for n, _ in module.named_children())
        for name in ("q", "k") if not normed else ():
            if isinstance(places.get(name), torch.nn.Linear):
                hook = partial(self._size, path, name)
                handles.add(places[name].register_forward_hook(hook))
        enter = partial(self._attend, path)
        handles.add(module.register_forward_pre_hook(enter))

    def _attend(self, path: str, *_: Any) -> None:
        self.hearing.module = path

    def _size(self, path: str, name: str, _module: Any, _args: Any, out: Any) -> None:
        if self.hearing.hearing:
            self._sizes.setdefault(path, {})[name] = size_of(out)

    def _gelu(self, module: torch.nn.Module, handles: HandleStack) -> None:
        def put(value: bool, *_: Any) -> None:
            self.hearing.gelu = value

        handles.add(module.register_forward_pre_hook(partial(put, True)))
        handles.add(module.register_forward_hook(partial(put, False)))

    def _enter(self, path: str, _module: Any, args: Any) -> None:
        if not self.hearing.hearing:
            return
        self.hearing.block = path
        if not self._rows and args and isinstance(args[0], torch.Tensor):
            with contextlib.suppress(ValueError):
                row = described("input", first_tensor(args), self.grid, 0.0)
                self._rows[""] = row

    def _leave(self, path: str, _module: Any, _args: Any, output: Any) -> None:
        if not self.hearing.hearing:
            return
        self.hearing.block = self.hearing.module = ""
        before = next(reversed(self._rows.values())).rms if self._rows else 0.0
        place = place_of(clean_name(path))
        with contextlib.suppress(ValueError):
            row = described(place, first_tensor(output), self.grid, before)
            self._rows[path] = row

    def _trace(self, path: str, _module: Any, _args: Any, output: Any) -> None:
        if self.hearing.hearing:
            with contextlib.suppress(ValueError):
                self.traces[path] = causality.trace(first_tensor(output))

    def blocks(self) -> Iterator[BlockActivations]:
        """Yield what each block was like, in the order of the forward."""
        for path, row in self._rows.items():
            heard = self.hearing.heard.get(path)
            yield replace(row, **dict(units_of(heard))) if heard else row  # type: ignore[arg-type]

    def of_depth(self) -> Iterator[PartFault]:
        """Yield what no healthy model has."""
        for row in self.blocks():
            if row.rms != row.rms or row.largest == float("inf"):
                yield PartFault(
                    "activations",
                    (row.place,),
                    "it returns NaN or infinity",
                    "ftlab.debug(...) stops at the operation that does; look at the "
                    "weights and at float16's limit of 65,504.",
                )
                return


def _uncached(value: Any) -> Any:
    return None if hasattr(value, "get_seq_length") else value


def _together(faults: list[PartFault]) -> Iterator[PartFault]:
    """Name all places of what is wrong in the same way once, errors first."""
    places: dict[tuple[str, ...], list[PartFault]] = {}
    for each in faults:
        key = (each.component, each.said, each.fix, each.severity)
        places.setdefault(key, []).append(each)
    order = ("error", "warning", "info")
    for same in sorted(places.values(), key=lambda e: order.index(e[0].severity)):
        every = dict.fromkeys(place for each in same for place in each.places)
        yield replace(same[0], places=tuple(every))
