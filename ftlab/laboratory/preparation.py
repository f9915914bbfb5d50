"""Whether a model in few bits is fit to be trained, and what that takes in memory."""

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from ftlab.executions.listening import shared_name
from ftlab.executions.pairs import training
from ftlab.executions.side import loss_of
from ftlab.laboratory.carriers import Carrier, carriers
from ftlab.laboratory.effects import unmoved
from ftlab.probes.plain import dtype_name
from ftlab.records.handle import HandleStack
from ftlab.records.places import place_of
from ftlab.records.quantisation import MemoryPart, Preparation

FEW_BITS = ("Params4bit", "Int8Params")
MANY = 2**28
"""Bytes of trained parameters from which AdamW's states are not made on trial."""
_Tensors = Sequence[Any]


def preparation(
    model: torch.nn.Module, batch: Mapping[str, Any] | None = None
) -> Preparation:
    """Look at dtypes and memory and, with a batch, at one backward.

    That runs in training mode with the checkpointing that is set, without dropout; the
    model is left as it was.
    """
    carried = list(carriers(model))
    own = {id(p) for each in carried for ps in each.adapters.values() for p in ps}
    base = {shared_name(n): p for n, p in model.named_parameters() if id(p) not in own}
    floats = {n: p for n, p in base.items() if type(p).__name__ not in FEW_BITS}
    seen = _Backward()
    note = "pass a batch with labels to measure the gradient"
    if batch is not None:
        note = seen.run(model, batch)
    trained = {id(p) for p in base.values() if p.requires_grad}
    if seen.found:
        trained = {key for key, (norm, _) in seen.found.items() if norm > 0}
    sizes = [size for _, size in seen.found.values()]
    return Preparation(
        _kinds(p for n, p in floats.items() if p.dim() == 1 and "bias" not in n),
        _kinds(_head(model)),
        tuple(_where(n) for n, p in floats.items() if p.dim() > 1),
        tuple(n for n, p in base.items() if id(p) in trained),
        any(getattr(m, "gradient_checkpointing", False) for m in model.modules()),
        tuple(_memory(model, list(floats.values()), own, sizes)),
        seen.given,
        seen.computes,
        seen.by_layer(carried),
        note,
    )


class _Backward:
    """One backward: norm and bytes of gradients, and what layers in few bits do."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[float, int]] = {}
        self.given: dict[str, str] = {}
        self.computes: dict[str, str] = {}

    def run(self, model: torch.nn.Module, batch: Mapping[str, Any]) -> str:
        """Run it and leave everything as it was; returns why it could not be run."""
        with (
            unmoved(model, batch),
            training(model),
            torch.enable_grad(),
            self._listening(model),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # checkpointing without gradients warns
            for parameter in model.parameters():
                parameter.grad = None
            try:
                loss = loss_of(model(**batch))
                if loss is None:
                    return "the batch has no labels: no gradient was measured"
                if loss.requires_grad:
                    loss.backward()
            except Exception as error:  # noqa: BLE001  told, as all else is known
                said = f"{type(error).__name__}: {str(error)[:120]}"
                return f"no gradient was measured: {said}"
            for parameter in model.parameters():
                grad = torch.zeros(0) if parameter.grad is None else parameter.grad
                self.found[id(parameter)] = float(grad.float().norm()), grad.nbytes
        return ""

    def by_layer(self, carried: Sequence[Carrier]) -> dict[str, float]:
        """Return the gradient's norm of each layer's adapters, in order."""
        norms: dict[str, float] = {}
        for each in carried if self.found else ():
            held = (p for ps in each.adapters.values() for p in ps)
            norms[each.name] = sum(self.found[id(p)][0] ** 2 for p in held) ** 0.5
        return norms

    @contextlib.contextmanager
    def _listening(self, model: torch.nn.Module) -> Iterator[None]:
        handles = HandleStack()
        for path, module in model.named_modules():
            if type(_weight(module)).__name__ in FEW_BITS:
                hook = partial(
                    self._called, shared_name(path).removesuffix(".base_layer")
                )
                handles.add(module.register_forward_hook(hook))
        try:
            yield
        finally:
            handles.remove()

    def _called(self, name: str, module: Any, args: Any, _output: Any) -> None:
        kind = getattr(module, "compute_dtype", None) or args[0].dtype
        self.given[name] = dtype_name(args[0].dtype)
        self.computes[name] = dtype_name(kind)


def _weight(module: torch.nn.Module) -> Any:
    """Return its own weight, and not that of what it is around."""
    return dict(module.named_parameters(recurse=False)).get("weight")


def _where(name: str) -> str:
    return place_of(name.removesuffix(".weight").removesuffix(".base_layer"))


def _kinds(parameters: Iterable[torch.Tensor]) -> tuple[str, ...]:
    return tuple(sorted({dtype_name(p.dtype) for p in parameters}))


def _head(model: Any) -> Iterator[torch.Tensor]:
    with contextlib.suppress(Exception):  # a model of one's own need not have it
        yield from model.get_output_embeddings().parameters()


def _memory(
    model: torch.nn.Module, floats: _Tensors, own: set[int], gradients: list[int]
) -> Iterator[MemoryPart]:
    held: dict[str, list[Any]] = {}
    predicted: dict[str, float] = {}
    for module in model.modules():
        for what, tensors, took in _kept(module):
            held.setdefault(what, []).extend(tensors)
            predicted[what] = predicted.get(what, 0.0) + took
    for each in floats:
        what = f"left in {dtype_name(each.dtype)}"
        held.setdefault(what, []).append(each)
        predicted[what] = predicted.get(what, 0.0) + each.nbytes
    adapters = [p for p in model.parameters() if id(p) in own]
    if adapters:
        held["adapters"] = list(adapters)
        predicted["adapters"] = float(sum(p.nbytes for p in adapters))
    for what, tensors in held.items():
        count = sum(t.numel() for t in tensors)
        yield MemoryPart(what, count, predicted[what], _storages(tensors))
    trained = [p for p in model.parameters() if p.requires_grad]
    count = sum(p.numel() for p in trained)
    plain = float(sum(p.nbytes for p in trained))
    measured = float(sum(gradients)) if gradients else float("nan")
    yield MemoryPart("gradients", count, plain, measured)
    states = 2 * plain + 4 * len(trained)  # two moments, and a step in float32
    yield MemoryPart("AdamW states", 2 * count, states, _stepped(trained))


def _kept(module: Any) -> Iterator[tuple[str, _Tensors, float]]:
    """Yield what a layer in few bits keeps: name, tensors, and bytes as computed."""
    weight = _weight(module)
    state = getattr(weight, "quant_state", None)
    if type(weight).__name__ == "Int8Params":
        scale = weight.SCB if weight.SCB is not None else module.state.SCB
        yield "int8 weights", [weight], weight.numel()
        if scale is not None:
            yield "scales", [scale], 4.0 * len(weight)
    elif state is not None:
        count = state.shape.numel()
        blocks = -(-count // state.blocksize)
        yield f"{state.quant_type} weights", [weight], count / 2
        yield "scales", [state.absmax], blocks * (1.0 if state.nested else 4.0)
        yield "code books", [state.code], 16 * 4.0
        if state.nested:
            nested = [state.state2.absmax, state.offset]
            yield "scales of scales", nested, 4.0 * -(-blocks // 256) + 4
            yield "code books", [state.state2.code], 256 * 4.0


def _storages(tensors: _Tensors) -> float:
    """Return the bytes of the storages of tensors, each counted once."""
    found = [t.untyped_storage() for t in tensors if not t.is_meta]
    return float(sum({s.data_ptr(): s.nbytes() for s in found}.values()))


def _stepped(trained: _Tensors) -> float:
    """Return the bytes that AdamW keeps after a step on copies of zeros."""
    if not 0 < sum(p.nbytes for p in trained) < MANY:
        return float("nan")
    copies = [torch.zeros_like(p, requires_grad=True) for p in trained]
    for each in copies:
        each.grad = torch.zeros_like(each)
    optimizer = torch.optim.AdamW(copies)
    optimizer.step()
    return _storages([t for s in optimizer.state.values() for t in s.values()])
