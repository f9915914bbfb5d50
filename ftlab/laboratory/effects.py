"""What adapters change: each layer's output on the same input, and the next token."""

import contextlib
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch

from ftlab.executions.distance import apart, size
from ftlab.executions.listening import shared_name
from ftlab.executions.pairs import evaluating, side
from ftlab.executions.side import WithoutDropout, undisturbed
from ftlab.executions.tokens import Grid, Meeting
from ftlab.laboratory.carriers import Carrier
from ftlab.laboratory.gates import GateListener
from ftlab.probes.adapter.adapter_tree import holders
from ftlab.probes.adapter.switched_off import without_adapters
from ftlab.records.adapter_gates import AdapterGates
from ftlab.records.attributes import attribute_of
from ftlab.records.handle import HandleStack
from ftlab.records.places import is_known, place_of


@dataclass(frozen=True, slots=True)
class Effects:
    """What adapters have changed on a batch.

    Attributes
    ----------
    layers
        By name of the carrier: distance of its output to that of what it was put on,
        given the same, over the latter's size, of all tokens that are no padding.
    behind
        By name of the carrier: path of the module behind which it is, where that was
        found out.
    gates
        How much each of several adapters counted.
    moved, turned
        Mean KL divergence of the next token with adapters from without, in nats, and
        the share of tokens after which another one is the likeliest.
    notes
        What could not be measured, and why.
    """

    layers: dict[str, float] = field(default_factory=dict)
    behind: dict[str, str] = field(default_factory=dict)
    gates: tuple[AdapterGates, ...] = ()
    moved: float = float("nan")
    turned: float = float("nan")
    notes: tuple[str, ...] = ()


def effects(
    model: torch.nn.Module, batch: Mapping[str, Any], carried: Sequence[Carrier]
) -> Effects:
    """Measure adapters on a batch, and leave the model as it was."""
    told = _Told(Grid.of(batch), carried)
    merged = [each.name for each in carried if each.merged()]
    with unmoved(model, batch), evaluating(model), torch.no_grad():
        with told.listening(model):
            on = logits_of(model(**batch))
        plain = None
        if not merged:  # PEFT unmerges for good what is switched off
            with _all_off(model, carried) as off:
                plain = logits_of(model(**batch)) if off else None
    moved = turned = float("nan")
    if on is not None and plain is not None:
        moved, turned = moved_by(on, plain, told.grid)
    notes = tuple(f"{name}: {why}" for name, why in told.failed.items())
    where = {c.choice.name: told.where(c) for c in carried if c.choice}
    gates = tuple(
        replace(each, place=place_of(where.get(each.name, each.name)))
        for each in told.gates.found.values()
    )
    behind = {c.name: told.where(c) for c in carried if c.name in told.behind}
    return Effects(told.found, behind, gates, moved, turned, notes)


@contextlib.contextmanager
def unmoved(model: torch.nn.Module, batch: Mapping[str, Any]) -> Iterator[None]:
    """Leave a model as it was, whatever is executed meanwhile, without dropout."""
    kept = [(p, p.data, p.requires_grad) for p in model.parameters()]
    with (
        undisturbed(side(model, batch)) as start,
        WithoutDropout(),
        torch.compiler.set_stance("force_eager"),
    ):
        try:
            yield
        finally:
            start.restore_modules()
            for parameter, data, was in kept:
                if parameter.dtype != data.dtype:  # bitsandbytes casts a layer's bias
                    parameter.data = data
                parameter.requires_grad_(was)  # X-LoRA's forward unfreezes its LoRAs


@contextlib.contextmanager
def _all_off(model: torch.nn.Module, carried: Sequence[Carrier]) -> Iterator[bool]:
    """Switch all adapters off; yields whether that can be done."""
    own = [each.off for each in carried if each.off is not None]
    with contextlib.ExitStack() as stack:
        able = bool(own)
        if holders(model):
            able = stack.enter_context(without_adapters(model))
        for off in own:
            stack.enter_context(off())
        yield able


class _Told:
    """Calls what each carrier was put on with what the carrier is given."""

    def __init__(self, grid: Grid | None, carried: Sequence[Carrier]) -> None:
        self.grid = grid
        self.gates = GateListener(grid, carried)
        self.found: dict[str, float] = {}
        self.behind: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self._carried = carried
        self._squares: dict[str, tuple[float, float]] = {}
        self._returned: dict[int, tuple[Any, str]] = {}
        self._within: list[str] = []

    @contextlib.contextmanager
    def listening(self, model: torch.nn.Module) -> Iterator[None]:
        handles = HandleStack()
        self._follow(model, handles)
        for each in self._carried:
            if each.inner is None and each.off is None:
                continue
            if each.merged():
                self.failed[each.name] = "it is merged: what it adds is in the weight"
                continue
            hook = partial(self._ask, each)
            handles.add(each.module.register_forward_hook(hook, with_kwargs=True))
        try:
            with self.gates.listening():
                yield
        finally:
            handles.remove()
        for name, (distance, whole) in self._squares.items():
            self.found[name] = (distance / whole) ** 0.5 if whole else float("nan")

    def _follow(self, model: torch.nn.Module, handles: HandleStack) -> None:
        """Find out which module's output each adapter is given."""
        entries = [(each.name, e) for each in self._carried for e in each.entries]
        for name, entry in entries:
            handles.add(entry.register_forward_pre_hook(partial(self._enter, name)))
        for path, module in model.named_modules() if entries else ():
            name = shared_name(path)
            begin, end = partial(self._begin, name), partial(self._leave, name)
            handles.add(module.register_forward_pre_hook(begin))
            handles.add(module.register_forward_hook(end, always_call=True))

    def where(self, each: Carrier) -> str:
        """Return the path of what an adapter is put behind, or else its own."""
        path = self.behind.get(each.name, each.name)
        around, _, last = path.rpartition(".")
        wrapper = each.name.startswith(f"{around}.") and not around[-1:].isdigit()
        # what a wrapper calls what it is around says nothing
        wrapped = path != each.name and wrapper and not is_known(last)
        return around if wrapped else path

    def _begin(self, path: str, _module: Any, _args: Any) -> None:
        self._within.append(path)

    def _leave(self, path: str, _module: Any, args: Any, output: Any) -> None:
        self._within.pop()
        with contextlib.suppress(Exception):  # it need not return a tensor
            tensor = _first(output)
            if all(each is not tensor for each in args):  # as dropout's is, left out
                self._returned[id(tensor)] = weakref.ref(tensor), path

    def _enter(self, name: str, _module: Any, args: Any) -> None:
        """Note who has returned what is given, or else whose hook this is."""
        given = args[0] if args else None
        made, path = self._returned.get(id(given), (lambda: None, ""))
        caller = self._within[-1] if self._within else ""
        if given is not None and made() is given:
            self.behind.setdefault(name, path)
        elif caller and not f"{name}.".startswith(f"{caller}."):
            self.behind.setdefault(name, caller)

    def _ask(
        self, each: Carrier, module: Any, args: Any, kwargs: Any, output: Any
    ) -> None:
        # X-LoRA's first pass runs through layers that are switched off
        off = each.inner is not None and attribute_of(module, "disable_adapters", False)
        if not self.gates.hearing or off:
            return
        self.gates.hearing = False
        try:
            tokens = _first(output).shape[1:2]
            given = tuple(_plain(a, tokens) for a in args)
            named = {key: _plain(value, tokens) for key, value in kwargs.items()}
            plain = each.without(given, named)
            self._note(each.name, _first(output), _first(plain))
        except Exception as error:  # noqa: BLE001  a layer of its own kind: told
            self.failed[each.name] = f"{type(error).__name__}: {str(error)[:120]}"
        finally:
            self.gates.hearing = True

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
    """Return the first tensor of what a module returns."""
    if isinstance(output, torch.Tensor):
        return output
    values = output
    if isinstance(output, Mapping):
        values = output.values()
    elif not isinstance(output, Sequence):
        values = vars(output).values()  # SHADOW's layers hand on an object of theirs
    return next(_first(e) for e in values if isinstance(e, torch.Tensor) or _own(e))


def _plain(value: Any, tokens: Sequence[int]) -> Any:
    """Return what a layer without adapters takes of an argument.

    The first tensor of an object of PEFT's, and no cache: the layer has put the keys
    of this very call in, and would put them in a second time.
    """
    if _own(value):
        return _first(value)
    if not hasattr(value, "get_seq_length"):
        return value
    if [value.get_seq_length()] != list(tokens):
        msg = "it attends to keys from before this batch, and they cannot be put back"
        raise ValueError(msg)
    return None


def _own(value: Any) -> bool:
    """Say whether it is what SHADOW's layers hand to each other."""
    peft = type(value).__module__.startswith("peft.")
    plain = torch.nn.Module | torch.Tensor
    return peft and not isinstance(value, plain) and hasattr(value, "shadow")


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
