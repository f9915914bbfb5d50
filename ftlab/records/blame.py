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

    Examples
    --------
    >>> from ftlab.records.blame import SampleBlame
    >>> SampleBlame(3, 4.5, 63, 2.25, 40, 53, 9.125, " the year 1987")
    sample 3: loss 4.5 over 63, gradient 2.25; tokens 40-52 ' the year 1987' at 9.12
    """

    sample: int
    loss: float
    tokens: int
    gradient: float
    start: int
    stop: int
    span_loss: float
    text: str = ""

    def __repr__(self) -> str:
        words = f"sample {self.sample}: loss {_digits(self.loss)} over {self.tokens}"
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
        head += f"{len(self.samples)} samples, {known.size} tokens with a loss"
        head += f", mean {_digits(float(known.mean()))}" if known.size else ""
        if not math.isnan(self.gradient):
            head += f"; gradient {_digits(self.gradient)}"
        rows = [repr(each) for each in self.samples[:SHOWN]]
        rest = len(self.samples) - len(rows)
        rows += [f"{rest} more in .losses and .gradients"] if rest else []
        if self.shared > 0:
            rows.append(f"{_digits(self.shared)} of the gradient belongs to no token")
        return "\n  ".join([head, *rows, *(f"note: {note}" for note in self.notes)])


def _digits(value: float) -> str:
    return f"{value + 0.0:.3g}"
