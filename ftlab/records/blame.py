"""What each sample and token of a step contributed to its loss and gradient."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHOWN = 5
"""Samples that the text shows."""


@dataclass(frozen=True, slots=True)
class SampleBlame:
    """One sample's part in a step.

    Attributes
    ----------
    sample
        Row of the batch.
    loss
        Mean over its tokens.
    tokens
        How many of its tokens have a loss.
    gradient
        L2 norm of what it adds to the gradient of the trained weights; NaN if unknown.
    start, stop
        The half-open range of tokens that stand out most.
    span_loss
        Mean over them.
    text
        What they say, where a tokenizer is known.
    pair, role
        Which pair of answers the row belongs to (-1: none), and as which of the two:
        ``"chosen"`` or ``"rejected"``. Then ``loss`` is the mean -log p of its tokens.
    pair_loss, pair_gradient
        The loss of the pair, and the norm of what both answers add to the gradient.

    Examples
    --------
    >>> from ftlab.records.blame import SampleBlame
    >>> SampleBlame(3, 4.5, 63, 2.25, 40, 53, 9.125, " the year 1987")
    sample 3: loss 4.5 over 63, gradient 2.25; tokens 40-52 ' the year 1987' at 9.12
    >>> SampleBlame(5, 4.5, 63, 2.25, 40, 41, 9.125, "", 1, "rejected", 0.75, 3.5)
    pair 1 (loss 0.75, gradient 3.5) rejected: -log p 4.5 over 63, gradient 2.25; \
token 40 at 9.12
    """

    sample: int
    loss: float
    tokens: int
    gradient: float
    start: int
    stop: int
    span_loss: float
    text: str = ""
    pair: int = -1
    role: str = ""
    pair_loss: float = math.nan
    pair_gradient: float = math.nan

    @property
    def name(self) -> str:
        """What the row is: ``"sample 3"``, or ``"pair 1 rejected"``."""
        alone = self.pair < 0
        return f"sample {self.sample}" if alone else f"pair {self.pair} {self.role}"

    def __repr__(self) -> str:
        words = f"sample {self.sample}: loss"
        if self.pair >= 0:
            words = f"pair {self.pair} (loss {_digits(self.pair_loss)}"
            words += f", gradient {_digits(self.pair_gradient)}) {self.role}: -log p"
        words += f" {_digits(self.loss)} over {self.tokens}"
        if not math.isnan(self.gradient):
            words += f", gradient {_digits(self.gradient)}"
        single = self.stop == self.start + 1
        last = "" if single else f"-{self.stop - 1}"
        words += f"; token{'' if single else 's'} {self.start}{last}"
        words += f" {self.text!r}" if self.text else ""
        return f"{words} at {_digits(self.span_loss)}"


@dataclass(frozen=True, slots=True, eq=False)
class Blame:
    """Loss per sample and token, and gradient norm per sample, of one step.

    Attributes
    ----------
    step, micro_batch
        Which it is.
    losses
        ``(samples, tokens)``, before any mean, at the predicted token; NaN where none,
        or where it is NaN; summed where the step computes it more than once.
    targets
        ``(samples, tokens)`` predicted token ids, -1 where there is none.
    gradients
        ``(samples,)`` L2 norms of what each sample adds to the gradient of the trained
        weights, under the normaliser of the whole batch; NaN where unknown.
    gradient
        That of all together.
    shared
        That of what comes past the tokens: a penalty on weights, a router's loss.
    samples
        The highest mean loss first.
    notes
        What could not be told, and why.
    """

    step: int
    micro_batch: int
    losses: NDArray[np.float64]
    targets: NDArray[np.int64]
    gradients: NDArray[np.float64]
    gradient: float
    shared: float
    samples: tuple[SampleBlame, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        head = f"Step {self.step}, micro-batch {self.micro_batch}: "
        known = self.losses[self.targets >= 0]
        pairs = {each.pair for each in self.samples if each.pair >= 0}
        rows = f"{len(pairs)} pairs" if pairs else f"{len(self.samples)} samples"
        head += f"{rows}, {known.size} tokens with a "
        head += "log-probability" if pairs else "loss"
        mean = f", mean {'-log p ' if pairs else ''}"
        head += f"{mean}{_digits(float(known.mean()))}" if known.size else ""
        if not math.isnan(self.gradient):
            head += f"; gradient {_digits(self.gradient)}"
        lines = [repr(each) for each in self.samples[:SHOWN]]
        rest = len(self.samples) - len(lines)
        lines += [f"{rest} more in .losses and .gradients"] if rest else []
        if self.shared > 0:
            lines.append(f"{_digits(self.shared)} of the gradient belongs to no token")
        return "\n  ".join([head, *lines, *(f"note: {note}" for note in self.notes)])


def _digits(value: float) -> str:
    return f"{value + 0.0:.3g}"
