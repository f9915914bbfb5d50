"""The rule GRD015, limit-out-of-scale.

## What it does
Finds limits of clipping that leave nothing of the gradient but its signs, or turn it
round, or nothing at all; and says how much smaller a limit is than what it limits.

## Why is this bad?
A limit of 0 makes every gradient 0: the weights stand still, or decay. A negative one
(-1 for "off" in many configurations) turns the gradient round: the loss is climbed.
Clipping each value to less than nearly all of them leaves their signs: under SGD every
weight moves by the same amount, whatever the data say.

## Evidence
The limit as it was passed, of clippings of all that is trained before the step; the
factor that clipping by norm applied; and of clipping by value the share of non-zero
elements beyond the limit, in a sample of up to 8 tensors, in steps 0 to 6 and each
16th. The reasons:
- `zero`, `negative`: in 3 updates in a row with a gradient. An error.
- `signs`: at least 0.9 of the elements beyond the limit, in 3 looks in a row. A
  warning. With normally distributed gradients that is a limit of an eighth of their
  size.
- `small`: a factor of 0.01 or less in at least 20 updates, and in all of the window.
  Information: under SGD it is the learning rate of `lr x factor`, and every gradient
  counts the same; under Adam, which forgets the size, it changes little. Many run so.
Measured on a small Llama with LoRA: `clip_grad_value_` with 1e-7 finds 0.98 to 1.0 of
the elements beyond the limit, with 1.0 none.
By hand: `(p.grad.abs() >= limit).float().mean()` before the call.

## What to try
1. Leave the call out where clipping is to be off; `max_grad_norm=0` does so in a
   Trainer, and not in torch.
2. Look at the norms of some updates (`watch.run.steps["grad_norm"]`) and set the limit
   near the largest usual one.

## Known problems
Sign descent by way of a tiny limit can be meant; an optimizer that says so (signSGD,
Lion) is easier to read.

## References
- torch.nn.utils.clip_grad_value_, clip_grad_norm_
- OpenNMT/OpenNMT-py#1140 (what a limit of 0 does)
- twtygqyy/pytorch-vdsr#2 (a tiny limit takes much longer to learn)
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.accumulation import feels_size
from ftlab.rules.rule import Rule
from ftlab.rules.update_parts import (
    Update,
    by_step,
    covers_all,
    factor_of,
    limit_of,
    may_clip,
    needs_clipping,
    updates_of,
)
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

UPDATES = 3
"""Updates, or looks, in a row."""

SIGNS = 0.9
"""Share of elements beyond the limit from which on signs are all that is left."""

SMALL = 0.01
"""Factor of a clipping that cuts off nearly everything."""

LONG = 20
"""Updates before a small limit is spoken of."""


class LimitOutOfScale(Rule):
    """Finds limits that are no limits for the gradients that there are."""

    code = "GRD015"
    name = "limit-out-of-scale"
    since = "0.1.0"
    status = "preview"
    requires = (needs_clipping,)

    def applies(self, run: Run) -> bool:
        """Tell whether gradients are clipped, or nothing has been stepped yet."""
        return may_clip(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding over the latest updates."""
        norms = by_step(run, "grad_norm")
        updates = [u for u in updates_of(run) if norms.get(u.step, 1.0) > 0]
        for word, sign in (("zero", 0), ("negative", -1)):
            wrong = [u for u in _latest(updates, sign) if u.clips]
            if len(wrong) >= UPDATES:
                yield self._finding(run, word, wrong, 0.0)
                return
        looks = [update for update in updates if _beyond(update) is not None]
        signs = [*takewhile(_is_sign, looks[::-1])][::-1]
        if len(signs) >= UPDATES:
            share = min(_beyond(update) or 0.0 for update in signs)
            yield self._finding(run, "signs", signs, share)
        elif len(updates) >= LONG and all(map(_is_small, updates)):
            factor = max(factor_of(update.clips[-1]) for update in updates)
            yield self._finding(run, "small", updates, factor)

    def _finding(
        self, run: Run, word: str, wrong: Sequence[Update], value: float
    ) -> Finding:
        first, last, call = wrong[0].step, wrong[-1].step, wrong[-1].clips[-1]
        says, cause = _TOLD[word]
        felt = _FELT[feels_size(run)] if word == "small" else ""
        return self.finding(
            _SEVERITIES[word],
            f"{at_steps(first, last)}: clip_grad_{call.target}_ with "
            f"{number(limit_of(call))} {says.format(value=number(value))}",
            cause=f"{cause}{felt}",
            fix="Leave the call out to clip nothing, or set a limit near the largest "
            "usual gradient.",
            places=[
                Place("call", f"clip_grad_{call.target}_"),
                Place("config", "max_grad_norm"),
            ],
            steps=(first, last),
            evidence={
                "reason": word,
                "limit": limit_of(call),
                "value": value,
                "updates": len(wrong),
                "threshold": SIGNS if word == "signs" else SMALL,
            },
            healthy="a limit above 0 that cuts off the largest gradients",
        )


def _latest(updates: Sequence[Update], sign: int) -> list[Update]:
    """Return the last updates whose clippings have a limit of this sign."""

    def is_wrong(update: Update) -> bool:
        limits = [limit_of(each) for each in update.clips if covers_all(each)]
        return any(limit == 0 if sign == 0 else limit < 0 for limit in limits)

    return [*takewhile(is_wrong, updates[::-1])][::-1]


def _beyond(update: Update) -> float | None:
    shares = [e.detail["beyond"] for e in update.clips if "beyond" in e.detail]
    return float(min(shares)) if shares else None


def _is_sign(update: Update) -> bool:
    return (_beyond(update) or 0.0) >= SIGNS and all(map(covers_all, update.clips))


def _is_small(update: Update) -> bool:
    clips = update.clips
    if len(clips) != 1 or not covers_all(clips[0]) or clips[0].detail.get("scaled"):
        return False
    return clips[0].target == "norm" and factor_of(clips[0]) <= SMALL


_SEVERITIES = {
    "zero": Severity.ERROR,
    "negative": Severity.ERROR,
    "signs": Severity.WARNING,
    "small": Severity.INFO,
}
_TOLD = {
    "zero": ("made every gradient 0", "The limit is 0, which switches nothing off."),
    "negative": (
        "turned the gradients round",
        "The limit is negative: torch multiplies by limit / norm, or cuts from above.",
    ),
    "signs": (
        "was below at least {value} of all elements: their signs are what is left",
        "The limit is far below what gradients are here.",
    ),
    "small": (
        "left at most {value} of the gradient in every update",
        "The limit is far below the norm of the gradients.",
    ),
}
_FELT = {
    True: " Under SGD the learning rate is smaller by that factor.",
    False: " An optimizer that forgets the size of gradients hardly feels it.",
}
