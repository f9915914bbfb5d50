"""What the pattern of a wrong derivative speaks for."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ftlab.records.derivative import Derivative, DerivativeState

SMALL = 1e-2
"""Part of what may differ that may differ from 0, and one side of a smooth point from
the other may differ by its inverse."""

PRECISIONS = {"bfloat16": 7.8e-3, "float16": 9.8e-4}
"""Spacing of numbers near 1."""

LOW_RANK = 0.34
"""Part of the whole rank up to which a difference comes from a reduction."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Both matrices of derivatives by one input: rows are outputs' elements.

    Attributes
    ----------
    shape
        Of the input.
    places
        Indices of the outputs' elements.
    columns
        Which elements of the input were tried.
    left, right
        Differences of values from below and from above.
    allowed
        What may differ: a part of the value, and `SMALL` of that part around 0.
    error
        ``"none"``: no gradient comes; ``"writes"``: a second backward gives something
        else; ``"ignores"``: twice the gradient of the output does not give twice as
        much; or what was raised.
    """

    name: str
    shape: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]
    columns: tuple[int, ...]
    analytic: torch.Tensor
    left: torch.Tensor
    right: torch.Tensor
    allowed: float
    error: str

    @property
    def numeric(self) -> torch.Tensor:
        """Differences across the point."""
        return (self.left + self.right) / 2

    def agrees(
        self, one: torch.Tensor, two: torch.Tensor, more: float = 1.0
    ) -> torch.Tensor:
        """Tell by element whether two matrices are the same."""
        part = more * self.allowed
        # around 0 terms cancel that bfloat16 has each rounded by 4e-3
        least = max(SMALL, self.allowed) * part
        return (one - two).abs() <= least + part * two.abs()

    @property
    def large(self) -> torch.Tensor:
        """Which elements are clearly not 0."""
        return self.numeric.abs() > 10 * SMALL * self.allowed

    def is_like(self, other: torch.Tensor) -> bool:
        """Tell whether a matrix is what the values say, and not all zero."""
        return bool(self.agrees(other, self.numeric).all())


def why_they_differ(one: Compared, others: Sequence[Compared]) -> Derivative:
    """Return how a derivative came out, with the likeliest reason."""
    count = one.analytic.numel()
    fits = one.agrees(one.analytic, one.numeric)
    wrong = int((~fits).sum())
    if not wrong and not one.error:
        return Derivative(one.name, "agrees", count)
    if not wrong and one.error == "none":
        return Derivative(one.name, "agrees", count)  # nothing depends on it
    kink = ~one.agrees(one.left, one.right, 1 / SMALL)
    # at a kink the slope of either side is right, and what lies between
    low, high = torch.minimum(one.left, one.right), torch.maximum(one.left, one.right)
    between = one.agrees(one.analytic.clamp(low, high), one.analytic, 1 / SMALL)
    if wrong and not one.error and bool((fits | (kink & between)).all()):
        reason = "the function has a kink or a jump at this point"
        fix = "Try inputs that are not at 0, at a bound or equal to each other."
        return _told(one, "not differentiable here", ~fits, reason, fix)
    reason, fix = _reason(one, others, fits)
    return _told(one, "wrong", ~fits, reason, fix)


def _told(
    one: Compared,
    state: DerivativeState,
    wrong: torch.Tensor,
    reason: str,
    fix: str,
) -> Derivative:
    gap = torch.nan_to_num((one.analytic - one.numeric).abs(), nan=torch.inf)
    row, column = divmod(int(gap.argmax()), max(gap.shape[1], 1))
    index = torch.unravel_index(torch.tensor(one.columns[column]), one.shape)
    return Derivative(
        one.name,
        state,
        wrong.numel(),
        int(wrong.sum()),
        one.places[row],
        tuple(int(each) for each in index),
        float(one.analytic[row, column]),
        float(one.numeric[row, column]),
        reason,
        fix,
    )


_ERRORS = {
    "none": (
        "no gradient comes back: it is None",
        "Return one gradient for each input of forward, and do not detach.",
    ),
    "writes": (
        "a second backward gives something else: backward writes to what forward has "
        "saved",
        "Do not write in place to ctx.saved_tensors or to grad_output.",
    ),
    "ignores": (
        "twice the output's gradient does not give twice the input's",
        "Multiply by grad_output.",
    ),
}


def _reason(
    one: Compared, others: Sequence[Compared], fits: torch.Tensor
) -> tuple[str, str]:
    analytic = one.analytic
    if one.error in _ERRORS:
        return _ERRORS[one.error]
    if "inplace operation" in one.error:
        return _ERRORS["writes"]
    if one.error:
        return f"backward {one.error}", "Return a gradient of the input's own shape."
    if not analytic.isfinite().all():
        return "backward gives NaN or infinity", "Guard the division, root or log."
    if not analytic.any():
        return "backward gives 0 throughout", "Do not detach; return the gradient."
    for found in (_multiple(one), _transposed(one), _of_another(one, others)):
        if found:
            return found
    return _part(one, fits)


def _multiple(one: Compared) -> tuple[str, str] | None:
    """Tell a wrong sign or factor, and few bits."""
    if not one.large.any():
        return None
    ratios = one.analytic[one.large] / one.numeric[one.large]
    factor = float(ratios.median())
    if factor and one.is_like(one.analytic / factor):
        if abs(factor + 1) < 1e-3:
            return "the sign is wrong", "Turn it round."
        return (
            f"it is {factor:.4g} times what it must be",
            "Look for a sum in place of a mean, a factor of the power or of the scale.",
        )
    errors = (ratios - 1).abs()
    for name, spacing in PRECISIONS.items():
        if float(errors.max()) <= 2 * spacing and float(errors.median()) > spacing / 16:
            return (
                f"it is right to the precision of {name} only",
                "Compute backward in the input's dtype, without a cast.",
            )
    return None


def _transposed(one: Compared) -> tuple[str, str] | None:
    """Tell whether two dimensions of the input have changed places."""
    whole = len(one.columns) == torch.Size(one.shape).numel()
    if not whole or len(one.shape) < 2 or one.shape[-1] != one.shape[-2]:
        return None
    turned = one.analytic.view(-1, *one.shape).transpose(-1, -2)
    if one.is_like(turned.reshape(one.analytic.shape)):
        return (
            "its last two dimensions have changed places",
            "Transpose it: the gradient of x @ w by w is x.T @ grad, by x grad @ w.T.",
        )
    return None


def _of_another(one: Compared, others: Sequence[Compared]) -> tuple[str, str] | None:
    """Tell whether it is the derivative by another input."""
    for other in others:
        if other.numeric.shape == one.numeric.shape and bool(
            one.agrees(one.analytic, other.numeric).all()
        ):
            return (
                f"it is the gradient of {other.name}",
                "Return gradients in the order of forward's inputs.",
            )
    return None


def _part(one: Compared, fits: torch.Tensor) -> tuple[str, str]:
    """Tell what kind of term is missing, by the rank of what differs."""
    gap = one.numeric - one.analytic
    share = float(fits[one.large].double().mean()) if one.large.any() else 0.0
    own = gap.shape[0] == gap.shape[1] and bool(
        one.agrees(gap, gap.diag().diag(), 10.0).all()
    )
    if own and one.is_like(one.analytic + gap.diag().mean() * _eye(gap)):
        return (
            f"the input itself is missing: {gap.diag().mean():.4g} times it",
            "Add the gradient of the residual, or of what is added to the output.",
        )
    rank = int(torch.linalg.matrix_rank(gap, rtol=1e-4))
    if not own and rank <= max(1, LOW_RANK * min(gap.shape)) and min(gap.shape) > 2:
        return (
            f"a term is missing or wrong that goes through a reduction (rank {rank} of "
            f"{min(gap.shape)}): a sum, a mean, a norm",
            "Add what the statistics themselves depend on, or detach them on purpose.",
        )
    if share > 0:
        return (
            f"it is right for {share:.0%} of the elements: a branch or a mask differs "
            "from forward's",
            "Use the same condition in backward as in forward.",
        )
    return (
        "it is another function",
        "Derive it again, or let autograd do it and compare.",
    )


def _eye(like: torch.Tensor) -> torch.Tensor:
    return torch.eye(len(like), dtype=like.dtype)
