"""What made a loss or a gradient NaN, in words: the operations and why.

The probe `ftlab.probes.graph.origins` names them; where it could not, nothing is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ftlab.records.finding import Place
from ftlab.runlog.run import Run


@dataclass(frozen=True, slots=True)
class Origin:
    """The operations that made it, the first cause in front, and why they did."""

    ops: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def places(self) -> list[Place]:
        """The operations as places."""
        return [Place("op", op) for op in self.ops]

    @property
    def cause(self) -> str:
        """What the operations did, as sentences."""
        return " ".join(_CAUSES.get(reason, "") for reason in self.reasons).strip()

    @property
    def fix(self) -> str:
        """What to write instead."""
        return " ".join(_FIXES.get(reason, "") for reason in self.reasons).strip()

    @property
    def name(self) -> str:
        """The operations in words."""
        return " and ".join(self.ops)


def origin_of(run: Run, step: int, of: str) -> Origin:
    """Return where the ``"loss"`` or ``"gradients"`` of a step went wrong."""
    for event in run.events:
        if event.kind == "origin" and event.step == step and event.detail["of"] == of:
            return Origin(_texts(event.detail, "ops"), _texts(event.detail, "reasons"))
    return Origin()


def _texts(detail: Mapping[str, Sequence[str]], key: str) -> tuple[str, ...]:
    return tuple(str(each) for each in detail.get(key, ()))


_CAUSES = {
    "zero times infinity": "An infinity was multiplied by 0, which is NaN: masking by "
    "multiplication does not remove an infinity.",
    "log of zero": "The logarithm of 0 is -inf, and its derivative 1/0.",
    "log below zero": "The logarithm of a number below 0 is NaN.",
    "root below zero": "The root of a number below 0 is NaN.",
    "root of zero": "The derivative of the root at 0 is infinite, and 0 times infinity "
    "is NaN.",
    "zero by zero": "0 was divided by 0, or an infinity by an infinity.",
    "division by zero": "A number was divided by 0.",
    "overflow": "An exponential overflowed to infinity; even if a mask excludes it, "
    "backward multiplies its derivative by 0, which is NaN.",
    "infinite": "A reciprocal of 0 is infinite.",
    "softmax of nothing": "A row of a softmax is -inf at all positions (no key, no "
    "token is allowed): it is 0/0 = NaN.",
    "label of probability zero": "An unmasked label has probability 0 (its logit is "
    "-inf): its loss is infinite.",
    "no label counts": "No label counted: the mean over none is 0/0.",
    "mean of nothing": "The mean of an empty selection is 0/0.",
}
_FIXES = {
    "zero times infinity": "Exclude masked positions before the sum: "
    "masked_fill(~mask, 0), or torch.where on the result.",
    "log of zero": "Use log_softmax for log(softmax(x)), torch.xlogy(p, p) for p * "
    "log(p), or clamp the logarithm's input.",
    "log below zero": "Clamp the logarithm's input above 0.",
    "root below zero": "Clamp the root's input at 0.",
    "root of zero": "Add a small number under the root, or use "
    "torch.linalg.vector_norm, whose derivative at 0 is 0.",
    "zero by zero": "Clamp the divisor: mask.sum().clamp(min=1).",
    "division by zero": "Clamp the divisor: mask.sum().clamp(min=1).",
    "overflow": "Replace the exponential's input at masked positions, not its output; "
    "or clamp it.",
    "infinite": "Keep the divisor away from 0.",
    "softmax of nothing": "Mask with torch.finfo(dtype).min, let each row see itself, "
    "or use F.scaled_dot_product_attention.",
    "label of probability zero": "Set such labels to -100 before the loss.",
    "no label counts": "Drop batches without a label, or keep more of the completions.",
    "mean of nothing": "Take the mean only if something is selected.",
}
