"""The rule GRD017, micro-batches-misweighed.

## What it does
Compares how many backwards make up an update with what their losses were divided by:
gradients that are the sum of K micro-batches instead of their mean, losses that were
divided by K twice, and losses divided by a number other than K.

## Why is this bad?
The gradient is K times too large, or too small. With SGD that is K times the learning
rate, in either direction; with Adam, which ignores the size of gradients, clipping cuts
off K times too much or nothing, and the logged norm and loss are off by K. A different
K then needs a different learning rate, for no visible reason.

## Evidence
The graph of each loss, read before backward frees it: the numbers that it was divided
and multiplied by, down to the mean over tokens or elements that it started from. A
window is an update whose K backwards each had their own forward and started from the
same kind of mean. Three windows at least, and half of all; with a Trainer, which says
itself how many micro-batches it accumulates, one. The reasons:
- `divided-twice`: K is among the divisors two times. An error with SGD, else a warning;
  for K = 2 info (one half may be a weight).
- `trainer-loss`: a Trainer accumulates K, the mean of each micro-batch was not divided,
  and the Trainer assumes it was (`model_accepts_loss_kwargs`).
- `not-divided`: the same in a custom loop. A warning for K of 3 and more under SGD.
  With K = 2 it may be two tasks whose losses are meant to add up, and under Adam it
  changes next to nothing: info.
- `divided-by-another`: by a whole number that is not K, and nothing else. A warning
  under SGD, otherwise info.
- `never-that-many`: by a whole number K of 3 and more that no update is made of, while
  each K micro-batches are cut into the same updates of unlike sizes, twice in a row: 1,
  1 and 2 for K = 4. A warning with any optimizer.
- `short-window`: as usual, but for updates of fewer micro-batches (the last of an
  epoch), which count for less; info. `long-window`: of more, which count for more: what
  the epoch before has left. A warning under SGD, otherwise info.
- `divided-alone`: each backward is an update of its own, but its loss is still divided;
  info, from 8 updates on.
Measured on a small Llama with LoRA and SGD, 4 micro-batches: the gradient's norm over
that of one large batch was 4.0 undivided, 0.25 divided twice, 1.0 divided once. With
`if (i + 1) % 4:` for the step, 40 micro-batches made 30 updates of 1, 1 and 2 instead
of 10. A Trainer with its own compute_loss logged a loss of 19.5 instead of 4.86.
By hand: print `loss.grad_fn` and its `next_functions` before backward; or compare the
norm of all gradients for 1 and for 4 micro-batches of the same samples: it must not
depend on how they are cut.

## What to try
1. In a custom loop: `(loss / K).backward()`, where K is the number of backwards in
   *this* update.
2. With accelerate `accelerator.backward(loss)` divides: do not divide yourself.
3. Where updates come too often, look at the condition: `if (i + 1) % K == 0:`.
4. In a Trainer's `compute_loss`: divide the sum by `num_items_in_batch`; or set
   `trainer.model_accepts_loss_kwargs = False`, and it divides the mean by K.

## Known problems
Nothing is reported where the loss does not end in a mean that the graph shows: a sum
over an unknown number of elements (`reduction="sum"`, a masked sum over its own count,
the Trainer's division by `num_items_in_batch`, label smoothing), a loss from a kernel
or a graph of torch.compile, a factor that lives on the device; and where gradients are
changed by hand before the step. A learning rate that was lowered by K
for an undivided sum cannot be told from one that was not: it is just as right. Nor can
three or more tasks of one kind, each with a backward, whose losses are meant to add up
under SGD: it depends on whether more of them were meant to take larger steps.

## References
- huggingface/accelerate#3533 (manual division besides that of accelerator.backward)
- huggingface/transformers#37766, MakazhanAlpamys/Soup#720 (a mean in compute_loss)
- karpathy/nanoGPT#168 (undivided: Adam forgets it, clipping does not)
- huggingface/accelerate#435, eriklindernoren/PyTorch-YOLOv3#325 (`% K` without `== 0`)
- Lightning-AI/pytorch-lightning#19987, hiyouga/LlamaFactory#10705 (short windows)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ftlab.rules.reading.accumulation import (
    Window,
    cut_alike,
    feels_size,
    usual_count,
    windows_of,
)
from ftlab.rules.rule import Finding, Place, Results, Rule, Severity, needs_operations
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

UPDATES = 3
"""Updates that must have been weighed alike."""

SHARE = 0.5
"""Share of the window's updates that must be."""

ALONE = 8
"""Updates of one backward each before a divisor is spoken of."""

MANY = 3
"""Micro-batches from which on a sum is not taken for two tasks."""

NOW_AND_THEN = ("short-window", "long-window")
"""What happens once in an epoch, and need not be usual."""

SHOWN = 6
"""Sizes of updates that are listed."""


@dataclass(frozen=True, slots=True)
class _Reason:
    """What is said of one way to weigh micro-batches."""

    word: str
    says: str
    cause: str
    fix: str


class MicroBatchesMisweighed(Rule):
    """Finds accumulated gradients that are no mean over their micro-batches."""

    code = "GRD017"
    caused_by = ("EXP003",)
    requires = (
        needs_operations("backward", "a backward", "let it run for a step"),
        needs_operations("step", "a step of an optimizer", "let it run for a step"),
    )

    def check(self, run: Run) -> Results:
        """Yield one finding over the updates that were weighed alike."""
        windows = windows_of(run)
        usual = usual_count(windows)
        if cut_alike(windows):
            yield self._finding(run, "never-that-many", windows)
            return
        for word, chosen in _sorted(windows, usual).items():
            gathers = word == "not-divided" and _is_gathered(run, usual)
            needed = {**dict.fromkeys(NOW_AND_THEN, 1), "divided-alone": ALONE}
            often = word in NOW_AND_THEN or len(chosen) >= SHARE * len(windows)
            if often and len(chosen) >= (1 if gathers else needed.get(word, UPDATES)):
                yield self._finding(run, "trainer-loss" if gathers else word, chosen)
                return

    def _finding(self, run: Run, word: str, chosen: Sequence[Window]) -> Finding:
        first, last = chosen[0].step, chosen[-1].step
        shown = chosen[-1]
        told, words = _TOLD[word], _words(chosen)
        return self.finding(
            _severity(run, word, shown.count),
            f"{at_steps(first, last)}: {told.says.format(**words)}; the update uses "
            f"{number(shown.total)} times the mean loss",
            cause=told.cause.format(**words),
            fix=told.fix.format(**words),
            places=_places(run, word, shown),
            steps=(first, last),
            reason=word,
            evidence={
                "micro_batches": shown.count,
                "total_weight": shown.total,
                "updates": len(chosen),
                "threshold": UPDATES,
            },
            healthy="the weights of the micro-batches' mean losses add up to 1",
        )


def _sorted(windows: Sequence[Window], usual: int) -> dict[str, list[Window]]:
    """Sort the wrong ones by what is wrong; right ones are left out."""
    found: dict[str, list[Window]] = {}
    for window in windows:
        word = _word(window, usual)
        if word:
            found.setdefault(word, []).append(window)
    return found


def _word(window: Window, usual: int) -> str:
    count, divided = window.count, window.divided
    if count > 1 and divided.count(count) > 1:
        return "divided-twice"
    if count > 1 and window.whole:
        return "not-divided"
    if len(divided) != 1 or not window.pure or count in divided:
        return ""
    by = divided[0]
    if by < 2 or not math.isclose(by, round(by)) or (window.awaited and count == 1):
        return ""
    if count != usual and math.isclose(by, usual):
        return "short-window" if count < usual else "long-window"
    return "divided-alone" if count == 1 else "divided-by-another"


def _severity(run: Run, word: str, count: int) -> Severity:
    large = feels_size(run)
    if word in ("trainer-loss", "never-that-many"):
        return Severity.WARNING
    if word == "divided-twice" and count >= MANY:
        return Severity.ERROR if large else Severity.WARNING
    if word == "not-divided" and large and count >= MANY:
        return Severity.WARNING
    if word in ("divided-by-another", "long-window") and large:
        return Severity.WARNING
    return Severity.INFO


def _is_gathered(run: Run, count: int) -> bool:
    """Tell whether a Trainer means to take the mean of so many micro-batches."""
    training = run.facts.training
    asked = training.get("gradient_accumulation_steps")
    return bool(training.get("trainer_class")) and asked == count


def _words(windows: Sequence[Window]) -> dict[str, str]:
    shown = windows[-1]
    by = " and by ".join(map(number, shown.divided))
    sizes = ", ".join(str(window.count) for window in windows[:SHOWN])
    return {"count": str(shown.count), "by": by, "sizes": sizes}


def _places(run: Run, word: str, window: Window) -> list[Place]:
    steps = Place("config", "gradient_accumulation_steps")
    if word == "trainer-loss":
        config = Place("config", "model_accepts_loss_kwargs")
        training = run.facts.training
        if training.get("own_compute_loss"):
            return [Place("call", "compute_loss"), config, steps]
        if training.get("compute_loss_func"):
            return [Place("call", "compute_loss_func"), steps]
        return [config, Place("call", "model.forward"), steps]
    call = Place("call", "loss.backward")
    if word == "never-that-many":
        return [Place("call", "optimizer.step"), steps, call]
    if window.accelerate and window.accelerate in window.divided:
        return [Place("call", "accelerator.backward"), call, steps]
    return [call, steps]


_TOLD = {
    told.word: told
    for told in (
        _Reason(
            "divided-twice",
            "the losses of {count} micro-batches were divided by {by}",
            "The loss is divided by the number of micro-batches in the loop and again "
            "by accelerator.backward or whatever calls backward.",
            "Do not divide in the loop: accelerator.backward(loss).",
        ),
        _Reason(
            "trainer-loss",
            "the losses of {count} micro-batches were not divided",
            "The loss is the mean of a micro-batch; the Trainer assumes that it is "
            "already divided by num_items_in_batch.",
            "Divide the sum by num_items_in_batch in compute_loss, or set "
            "trainer.model_accepts_loss_kwargs = False.",
        ),
        _Reason(
            "not-divided",
            "the losses of {count} micro-batches were not divided",
            "backward is called on the mean of each micro-batch: their gradients are "
            "summed, and never divided by their number.",
            "(loss / micro_batches).backward(); if a sum is intended, note that the "
            "learning rate depends on the number of micro-batches.",
        ),
        _Reason(
            "divided-by-another",
            "the losses of {count} micro-batches were divided by {by}",
            "The loss is divided by a number other than the backwards per update.",
            "Divide by the number of micro-batches in this update.",
        ),
        _Reason(
            "never-that-many",
            "the losses were divided by {by}, but the updates had {sizes}, ... "
            "micro-batches",
            "The optimizer steps where it should wait: a condition such as "
            "`if (i + 1) % {by}:` is true for all micro-batches but the last.",
            "Step when the count is complete: `if (i + 1) % {by} == 0:`.",
        ),
        _Reason(
            "short-window",
            "the loss of an update of {count} micro-batches was divided by {by} like "
            "all others",
            "The last update of an epoch has fewer micro-batches, and counts for less.",
            "Divide by the number of micro-batches in this update, or leave it: one "
            "update per epoch is smaller.",
        ),
        _Reason(
            "long-window",
            "the loss of an update of {count} micro-batches was divided by {by} like "
            "all others",
            "The remaining micro-batches of an epoch made no update of their own: "
            "their gradients went into the first update of the next epoch.",
            "Step at the end of the epoch as well, or clear what is left there.",
        ),
        _Reason(
            "divided-alone",
            "each update has {count} backward, but its loss is divided by {by}",
            "The loss is divided as for accumulation, and the optimizer steps after "
            "each backward.",
            "Step once per that many micro-batches, or remove the division.",
        ),
    )
}
