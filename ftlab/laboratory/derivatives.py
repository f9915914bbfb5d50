"""Derivatives by backward against differences of values, and why they differ.

Who calls whom: `derivatives` makes copies in float64, asks `_Tried` for both matrices
of derivatives by each input, and lets `why_they_differ` read their pattern.
"""

import contextlib
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ftlab.laboratory.derivative_reasons import Compared, why_they_differ
from ftlab.laboratory.in_float64 import Casts, in_float64
from ftlab.records.derivative import Derivative, Derivatives
from ftlab.records.errors import BadValueError

STEP, ALLOWED = 1e-6, 1e-5
"""Distance at which values are taken, as `torch.autograd.gradcheck` has it, and what
may differ: differences across a point are right to 1e-9 or so in float64."""

FEW_BITS = {
    torch.bfloat16: (0.1, 0.15),
    torch.float16: (0.1, 0.15),
    torch.float32: (1e-2, 1e-2),
}
"""The same where a function computes in fewer bits: its values move in steps."""

MOST = 64
"""Elements of an input, and of the outputs, that are tried; all where fewer are."""

SEED = 0

_OF_DTYPES = re.compile(r"dtype|scalar type|\b(Double|double)\b")

Values = list[torch.Tensor]


@dataclass(frozen=True, slots=True)
class _Input:
    """One tensor that the function depends on."""

    name: str
    tensor: torch.Tensor


def derivatives(
    function: Callable[..., Any], inputs: Sequence[Any], named: Mapping[str, Any]
) -> Derivatives:
    """Compare the derivatives by each floating-point input, and by each parameter."""
    tried = _Tried(function, inputs, named)
    owner = getattr(function, "__self__", None)
    named_by = owner if isinstance(owner, type) else function
    name = getattr(named_by, "__name__", type(function).__name__)
    remarks = tried.remarks()
    if remarks:
        none = tuple(Derivative(each.name, "not checked") for each in tried.inputs)
        return Derivatives(name, none, remarks)
    compared = [tried.compared(at) for at in range(len(tried.inputs))]
    each = tuple(
        why_they_differ(one, [other for other in compared if other is not one])
        for one in compared
    )
    return Derivatives(name, each)


class _Tried:
    """A function on copies of its inputs, in float64, with the same random numbers."""

    def __init__(
        self, function: Any, inputs: Sequence[Any], named: Mapping[str, Any]
    ) -> None:
        self._function = in_float64(function)
        leaves, self._spec = pytree.tree_flatten((tuple(inputs), dict(named)))
        paths = pytree.tree_flatten_with_path((tuple(inputs), dict(named)))[0]
        names = [_name(path) for path, _ in paths]
        self._leaves = [
            e.detach().double().requires_grad_() if _is_float(e) else e for e in leaves
        ]
        self.inputs = [
            _Input(name, each)
            for name, each in zip(names, self._leaves, strict=True)
            if _is_float(each)
        ]
        if isinstance(function, torch.nn.Module):
            self.inputs += [
                _Input(name, each)
                for name, each in self._function.named_parameters()
                if each.requires_grad
            ]
        self._written: list[str] = []
        self._step, self._allowed = STEP, ALLOWED
        self._lifts = False

    def remarks(self) -> tuple[str, ...]:
        """Run it twice; return what hinders every comparison."""
        if not self.inputs:
            return ("it has no floating-point input and no parameter",)
        first, second = self._called(), self._values()
        if not first:
            return ("it returns no floating-point tensor",)
        written = (each.removeprefix("input ") for each in self._written)
        found = [f"forward writes to its input {each}" for each in written]
        pairs = list(zip(first, second, strict=True))
        if not all(torch.allclose(a, b, 0.0, 0.0, equal_nan=True) for a, b in pairs):
            found.append("two calls with the same inputs give different values")
        elif any(bool(each.isnan().any()) for each in first):
            found.append("its values are NaN for these inputs; pass others")
        if not any(each.requires_grad for each in first):
            found.append("no output has a graph: it detaches, or runs under no_grad")
        self._choose_step()
        return tuple(dict.fromkeys(found))

    def _called(self) -> Values:
        """Call it for the first time.

        Raises
        ------
        BadValueError
            It mixes float64 with something of its own.
        """
        try:
            return self._values()
        except RuntimeError as error:
            said = str(error).splitlines()[0][:160]
            if not _OF_DTYPES.search(said):
                raise
            msg = (
                f"the function cannot be called in float64 ({said}): it uses a module "
                "or tensor of another dtype that it does not name itself; pass the "
                "module itself, and tensors as inputs: gradcheck(module, x)."
            )
            raise BadValueError(msg) from error

    def _choose_step(self) -> None:
        """See in how many bits it computes, and take values in float64 where it can.

        By its casts of float64 numbers, and, for kernels that cast within, by which
        dtype has all of its values: of one that comes out of float32 a weight makes
        values of float64 again.
        """
        with torch.no_grad():
            for each in self.inputs:  # away from numbers that every dtype has
                each.tensor.mul_(1 + 1e-4 / 3)
            with Casts() as casts:
                values = self._values()
            few = {*casts.to, _bits_of(values)}
            bits = next((each for each in FEW_BITS if each in few), None)
            if bits is not None:
                self._step, self._allowed = FEW_BITS[bits]
            if casts.to and self._is_smooth_without_casts():
                self._lifts, self._step = True, STEP
            for each in self.inputs:
                each.tensor.div_(1 + 1e-4 / 3)

    def _is_smooth_without_casts(self) -> bool:
        """Say whether it also runs without its casts, and its values have all bits."""
        try:
            with Casts(lift=True):
                values = self._values()
        except RuntimeError:  # something of few bits is left, which does not mix
            return False
        return _bits_of(values) is None

    def _values(self) -> Values:
        """Call it; inputs are no leaves, so that it may write to them."""
        given = [e.clone() if _is_float(e) else e for e in self._leaves]
        before = [e.detach().clone() if _is_float(e) else e for e in given]
        arguments, named = pytree.tree_unflatten(given, self._spec)
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.manual_seed(SEED)
            result = self._function(*arguments, **named)
        names = iter(each.name for each in self.inputs)
        for old, new in zip(before, given, strict=True):
            if _is_float(old):
                name = next(names)
                if not torch.equal(old, new.detach()):
                    self._written.append(name)
        return [e for e in pytree.tree_leaves(result) if _is_float(e)]

    def compared(self, at: int) -> Compared:
        """Take both matrices of derivatives by one input."""
        one = self.inputs[at]
        values = self._values()
        sizes = [each.numel() for each in values]
        rows = _chosen(sum(sizes))
        columns = _chosen(one.tensor.numel())
        analytic, error = self._analytic(one.tensor, values, rows, columns)
        left, right = self._numeric(one.tensor, rows, columns)
        return Compared(
            name=one.name,
            shape=tuple(one.tensor.shape),
            places=tuple(_place(row, values) for row in rows),
            columns=tuple(columns),
            analytic=analytic,
            left=left,
            right=right,
            allowed=self._allowed,
            error=error,
        )

    def _analytic(
        self,
        tensor: torch.Tensor,
        values: Values,
        rows: Sequence[int],
        columns: Sequence[int],
    ) -> tuple[torch.Tensor, str]:
        """Return the rows that backward gives, and what is odd about it as a whole."""
        flat = torch.cat([e.double().flatten() for e in values])
        found = torch.zeros(len(rows), len(columns), dtype=torch.float64)
        odd = ""

        def by(weights: torch.Tensor) -> torch.Tensor | None:
            gradients: Any = torch.autograd.grad(
                flat, tensor, weights, retain_graph=True, allow_unused=True
            )
            gradient = gradients[0]
            return None if gradient is None else gradient.double().flatten()[columns]

        try:
            for at, row in enumerate(rows):
                weights = torch.zeros_like(flat)
                weights[row] = 1.0
                gradient = by(weights)
                if gradient is None:
                    return found, "none"
                found[at] = gradient
            weights = torch.zeros_like(flat)
            if rows:
                weights[rows[0]] = 1.0
                again, double = by(weights), by(2 * weights)
                if again is not None and not _is_close(again, found[0]):
                    odd = "writes"
                elif double is not None and not _is_close(
                    double, 2 * found[0], self._allowed
                ):
                    odd = "ignores"
        except RuntimeError as raised:
            return found, f"raises {type(raised).__name__}: {raised}"
        return found, odd

    def _numeric(
        self,
        tensor: torch.Tensor,
        rows: Sequence[int],
        columns: Sequence[int],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return derivatives from below and from above."""
        view = tensor.detach().view(-1)
        middle = self._flat(rows)
        sides = []
        for sign in (-1, 1):
            found = torch.zeros(len(rows), len(columns), dtype=torch.float64)
            for at, column in enumerate(columns):
                before = view[column].item()
                by = sign * self._step * max(1.0, abs(before))
                view[column] = before + by
                found[:, at] = (self._flat(rows) - middle) / by
                view[column] = before
            sides.append(found)
        return sides[0], sides[1]

    def _flat(self, rows: Sequence[int]) -> torch.Tensor:
        with Casts(lift=True) if self._lifts else contextlib.nullcontext():
            values = self._values()
        return torch.cat([e.detach().double().flatten() for e in values])[list(rows)]


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _name(path: Any) -> str:
    """Name an input as it is passed: ``"input 0"`` or its keyword."""
    first, rest = path[1], path[2:]
    named = isinstance(first, pytree.MappingKey)
    start = str(first.key) if named else f"input {first.idx}"
    return start + "".join(map(str, rest))


def _chosen(count: int) -> list[int]:
    """Choose elements, all or at random."""
    if count <= MOST:
        return list(range(count))
    generator = torch.Generator().manual_seed(SEED)
    return sorted(torch.randperm(count, generator=generator)[:MOST].tolist())


def _place(row: int, values: Values) -> tuple[int, ...]:
    """Return the index of an element of all outputs, with the output's in front."""
    ends = list(itertools.accumulate(each.numel() for each in values))
    which = next(at for at, end in enumerate(ends) if row < end)
    within = row - (ends[which - 1] if which else 0)
    index = torch.unravel_index(torch.tensor(within), values[which].shape)
    own = tuple(int(each) for each in index)
    return own if len(values) == 1 else (which, *own)


def _is_close(one: torch.Tensor, two: torch.Tensor, allowed: float = ALLOWED) -> bool:
    part = allowed / 10  # numbers of float16 near 0 are not twice as large to the bit
    return torch.allclose(one, two, rtol=part, atol=1e-3 * part, equal_nan=True)


def _bits_of(values: Values) -> torch.dtype | None:
    """Return the dtype of few bits that has all values."""
    flat = torch.cat([each.double().flatten() for each in values])
    moving = flat[flat != flat.round()]
    has_all = (e for e in FEW_BITS if torch.equal(moving, moving.to(e).double()))
    return next(has_all, None) if len(moving) else None
