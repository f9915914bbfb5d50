"""What adapters change: each layer's output on the same input, and the next token."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from ftlab.executions.distance import apart, size
from ftlab.executions.pairs import evaluating, side
from ftlab.executions.side import WithoutDropout, undisturbed
from ftlab.executions.tokens import Grid, Meeting
from ftlab.laboratory.carriers import Carrier
from ftlab.probes.adapter.switched_off import without_adapters
from ftlab.records.handle import HandleStack

Effects = dict[str, float]


def effects(
    model: torch.nn.Module, batch: Mapping[str, Any], carried: Sequence[Carrier]
) -> tuple[Effects, float, float, list[str]]:
    """Measure adapters on a batch, and leave the model as it was.

    Returns
    -------
    effects
        By name of the carrier: distance of its output to that of what it was put on,
        given the same, over the latter's size, of all tokens that are no padding.
    moved, turned
        Mean KL divergence of the next token with adapters from without, in nats, and
        the share of tokens after which another one is the likeliest.
    notes
        What could not be measured, and why.
    """
    told = _Told(Grid.of(batch))
    merged = [each.name for each in carried if each.merged()]
    with (
        undisturbed(side(model, batch)),
        evaluating(model),
        WithoutDropout(),
        torch.compiler.set_stance("force_eager"),
    ):
        with torch.no_grad(), told.listening(carried):
            on = logits_of(model(**batch))
        plain = None
        if not merged:  # PEFT unmerges for good what is switched off
            with torch.no_grad(), without_adapters(model) as off:
                plain = logits_of(model(**batch)) if off else None
    notes = [f"{name}: {why}" for name, why in told.failed.items()]
    if on is None or plain is None:
        return told.found, float("nan"), float("nan"), notes
    moved, turned = moved_by(on, plain, told.grid)
    return told.found, moved, turned, notes


class _Told:
    """Calls what each carrier was put on with what the carrier is given."""

    def __init__(self, grid: Grid | None) -> None:
        self.grid = grid
        self.found: Effects = {}
        self.failed: dict[str, str] = {}
        self._squares: dict[str, tuple[float, float]] = {}
        self._asking = False

    @contextlib.contextmanager
    def listening(self, carried: Sequence[Carrier]) -> Iterator[None]:
        handles = HandleStack()
        for each in carried:
            if each.inner is None:
                continue
            if each.merged():
                self.failed[each.name] = "it is merged: what it adds is in the weight"
                continue
            hook = partial(self._ask, each)
            handles.add(each.module.register_forward_hook(hook, with_kwargs=True))
        try:
            yield
        finally:
            handles.remove()
        for name, (distance, whole) in self._squares.items():
            self.found[name] = (distance / whole) ** 0.5 if whole else float("nan")

    def _ask(
        self, each: Carrier, _module: Any, args: Any, kwargs: Any, output: Any
    ) -> None:
        if self._asking:
            return
        self._asking = True
        try:
            try:
                plain = each.inner(*args, **kwargs)
            except TypeError:  # arguments that are the adapter's alone
                plain = each.inner(*args)
            self._note(each.name, _first(output), _first(plain))
        except Exception as error:  # noqa: BLE001  a layer of its own kind: told
            self.failed[each.name] = f"{type(error).__name__}: {str(error)[:120]}"
        finally:
            self._asking = False

    def _note(self, name: str, output: torch.Tensor, plain: torch.Tensor) -> None:
        meeting = Meeting(self.grid, self.grid)
        cells = meeting.cells(plain, output)
        if cells is None:
            self.failed[name] = f"it returns {list(output.shape)}, without an adapter "
            self.failed[name] += f"{list(plain.shape)}"
            return
        distance, whole = self._squares.get(name, (0.0, 0.0))
        distance += float(apart(*cells).square().sum())
        self._squares[name] = (distance, whole + float(size(cells[0]).square().sum()))


def _first(output: Any) -> torch.Tensor:
    if isinstance(output, torch.Tensor):
        return output
    values = output.values() if isinstance(output, Mapping) else output
    return next(each for each in values if isinstance(each, torch.Tensor))


def logits_of(output: Any) -> torch.Tensor | None:
    """Return the logits of a language model's output."""
    found = getattr(output, "logits", None)
    return found if isinstance(found, torch.Tensor) and found.dim() == 3 else None


def moved_by(
    on: torch.Tensor, off: torch.Tensor, grid: Grid | None
) -> tuple[float, float]:
    """Return the mean KL divergence of ``on`` from ``off``, and where argmaxes part."""
    length = min(on.shape[1], off.shape[1])  # a prompt's own positions stand in front
    pair = [each[:, -length:].double() for each in (on, off)]
    cells = None if grid is None else Meeting(grid, grid).cells(*pair)
    one, other = cells or tuple(each.flatten(0, 1) for each in pair)
    a, b = one.log_softmax(-1), other.log_softmax(-1)
    kl = (a.exp() * (a - b)).sum(-1).clamp(min=0)
    turned = (a.argmax(-1) != b.argmax(-1)).double().mean()
    return float(kl.mean()), float(turned)
