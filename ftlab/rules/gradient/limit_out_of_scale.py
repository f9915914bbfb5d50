"""The rule GRD015, limit-out-of-scale.

## What it does
Finds clipping limits that leave only the signs of the gradient, reverse it, or leave
nothing at all; and says how much smaller a limit is than what it limits, and whether a
different norm was intended.

## Why is this bad?
A limit of 0 makes every gradient 0: the weights stand still, or decay. A negative one
(-1 for "off" in many configurations) reverses the gradient: the loss is maximized.
Clipping by value below nearly all of the elements leaves only their signs: under SGD
every weight moves by the same amount, whatever the data say. The sum of all absolute
values (`norm_type=1`) is hundreds of times their L2 norm, and a limit meant for one
cuts off nearly all of the other.

## Evidence
The limit as it was passed, of clippings of all that is trained before the step; the
factor that clipping by norm applied; and of clipping by value the share of non-zero
elements beyond the limit and what is left of the norm, in a sample of up to 8 tensors,
in steps 0 to 7 and each 16th. The reasons:
- `zero`, `negative`: in 3 updates in a row with a gradient. An error.
- `signs`: at least 0.9 of the elements beyond the limit, in 3 checks in a row. A
  warning. With normally distributed gradients that is a limit of an eighth of their
  size.
- `flattened`: at least a quarter of the elements beyond the limit and at most 0.1 of
  the norm left, in all of at least 8 checks: large and small elements become alike, and
  the direction changes. Such a limit is meant to cut only a few large ones. A warning.
- `below-epsilon`: a factor of 0.01 or less in 3 updates in a row, and a limit of at
  most a tenth of the epsilon of every optimizer, all of Adam's kind. No element can
  exceed the limit, so that no weight moves by more than a tenth of the learning rate.
  Only where epsilon is at most 1e-6: a larger one is set on purpose. An error.
- `swapped`: a factor of 0.1 or less in at least 8 updates, and in all of the window,
  where max_norm is 2, as norm types usually are, and norm_type is below 2, as limits
  usually are. A warning.
- `small`: a factor of 0.01 or less in at least 20 updates, and in all of the window.
  Info: under SGD the learning rate is in effect `lr x factor`, and every gradient
  counts the same; under Adam, which ignores the size, it changes little. Many runs do
  so. Measured on a small Llama with LoRA: `clip_grad_value_` with 1e-7 finds 0.98 to
  1.0 of the elements beyond the limit, with 1.0 none. Of the norm of small models in
  full (a Llama, a GPT-2, a GPT-NeoX) limits of 0.5 and 1 left all, 0.1 at least 0.82,
  0.01
0.33 to 0.52, 1e-3 0.06 to 0.10 and 1e-4 0.01, with 0.5 to 0.8 of the elements beyond
1e-3. `clip_grad_norm_(p, 2.0, 1.0)` on a Qwen2 of 27 tensors whose L2 norm was 2 gave a
factor of 0.008. With AdamW and max_grad_norm=1e-10 LoRA stood still in a Trainer.
By hand: `(p.grad.abs() >= limit).float().mean()` before the call, and the norm of all
gradients before and after it.

## What to try
1. Remove the call to switch clipping off; `max_grad_norm=0` does so in a Trainer, but
   not in torch.
2. Look at the norms of some updates (`watch.run.steps["grad_norm"]`) and set the limit
   near the largest usual one.
3. Name the arguments: `clip_grad_norm_(parameters, max_norm=1.0, norm_type=2.0)`.

## Known problems
Sign descent by a tiny limit can be intended; an optimizer that says so (signSGD, Lion)
is easier to read. An L1 limit other than 2 that cuts off nearly everything may be
swapped too: that is `small`.

## References
- torch.nn.utils.clip_grad_value_, clip_grad_norm_
- OpenNMT/OpenNMT-py#1140 (what a limit of 0 does)
- twtygqyy/pytorch-vdsr#2 (a tiny limit takes much longer to learn)
"""

from collections.abc import Sequence
from functools import partial

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.accumulation import feels_size
from ftlab.rules.reading.update_parts import (
    Update,
    by_step,
    covers_all,
    factor_of,
    latest,
    limit_of,
    needs_clipping,
    updates_of,
)
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, number

UPDATES = 3
"""Updates, or looks, in a row."""

SIGNS = 0.9
"""Share of elements beyond the limit from which on signs are all that is left."""

SMALL = 0.01
"""Factor of a clipping that cuts off nearly everything."""

FLAT, MANY = 0.1, 0.25
"""Share of the norm that a limit for values leaves, and share of elements beyond it."""

LOOKS = 8
"""Looks at values, or updates by another norm, that must all be alike."""

SWAPPED = 0.1
"""Factor that a limit for one norm may leave of another."""

USUAL = 2.0
"""The norm type that nearly everybody means."""

TENTH, LARGE = 0.1, 1e-6
"""Share of epsilon below which a limit hides; an epsilon above which it is meant."""

LONG = 20
"""Updates before a small limit is spoken of."""


class LimitOutOfScale(Rule):
    """Finds limits that are no limits for the gradients that there are."""

    code = "GRD015"
    requires = needs_clipping

    def check(self, run: Run) -> Results:
        """Yield one finding over the latest updates."""
        norms = by_step(run, "grad_norm")
        updates = [u for u in updates_of(run) if norms.get(u.step, 1.0) > 0]
        for word, sign in (("zero", 0), ("negative", -1)):
            wrong = [u for u in _of_sign(updates, sign) if u.clips]
            if len(wrong) >= UPDATES:
                yield self._finding(run, word, wrong, 0.0)
                return
        looks = [update for update in updates if _beyond(update) is not None]
        signs = latest(looks, _is_sign)
        hidden = latest(updates, partial(_is_hidden, epsilon=_epsilon(run)))
        if len(signs) >= UPDATES:
            share = min(_beyond(update) or 0.0 for update in signs)
            yield self._finding(run, "signs", signs, share)
        elif len(looks) >= LOOKS and all(map(_is_flat, looks)):
            kept = max(update.clips[0].detail["kept"] for update in looks)
            yield self._finding(run, "flattened", looks, kept)
        elif len(hidden) >= UPDATES:
            yield self._finding(run, "below-epsilon", hidden, _epsilon(run))
        elif len(updates) >= LOOKS and all(map(_is_swapped, updates)):
            yield self._finding(run, "swapped", updates, _largest(updates))
        elif len(updates) >= LONG and all(map(_is_small, updates)):
            yield self._finding(run, "small", updates, _largest(updates))

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
            fix=_FIXES.get(word, _FIX),
            places={"call": f"clip_grad_{call.target}_", "config": "max_grad_norm"},
            steps=(first, last),
            reason=word,
            evidence={
                "limit": limit_of(call),
                "value": value,
                "updates": len(wrong),
                "threshold": _THRESHOLDS.get(word, SMALL),
            },
            healthy="a limit above 0 that cuts off the largest gradients",
        )


def _of_sign(updates: Sequence[Update], sign: int) -> list[Update]:
    """Return the last updates whose clippings have a limit of this sign."""

    def is_wrong(update: Update) -> bool:
        limits = [limit_of(each) for each in update.clips if covers_all(each)]
        return any(limit == 0 if sign == 0 else limit < 0 for limit in limits)

    return latest(updates, is_wrong)


def _largest(updates: Sequence[Update]) -> float:
    return max(factor_of(update.clips[-1]) for update in updates)


def _beyond(update: Update) -> float | None:
    shares = [e.detail["beyond"] for e in update.clips if "beyond" in e.detail]
    return float(min(shares)) if shares else None


def _is_sign(update: Update) -> bool:
    return (_beyond(update) or 0.0) >= SIGNS and all(map(covers_all, update.clips))


def _is_flat(update: Update) -> bool:
    if len(update.clips) != 1 or not _is_of_all(update.clips[0], "value"):
        return False
    return (_beyond(update) or 0.0) >= MANY and update.clips[0].detail.get(
        "kept", 1.0
    ) <= FLAT


def _is_small(update: Update, factor: float = SMALL) -> bool:
    if len(update.clips) != 1 or not _is_of_all(update.clips[0], "norm"):
        return False
    return factor_of(update.clips[0]) <= factor


def _is_swapped(update: Update) -> bool:
    if not _is_small(update, SWAPPED) or limit_of(update.clips[0]) != USUAL:
        return False
    return 0 < float(update.clips[0].detail.get("norm_type", USUAL)) < USUAL


def _is_hidden(update: Update, epsilon: float) -> bool:
    return _is_small(update) and limit_of(update.clips[0]) <= TENTH * epsilon


def _is_of_all(clip: LedgerEntry, target: str) -> bool:
    scaled = clip.detail.get("scaled")
    return clip.target == target and covers_all(clip) and not scaled


def _epsilon(run: Run) -> float:
    """Return what every optimizer, all of Adam's kind, adds to a root; else 0."""
    groups = [
        group if "adam" in str(facts.get("class", "")).lower() else {}
        for facts in run.facts.optimizers
        for group in facts.get("groups", ())
    ]
    least = min((float(group.get("eps") or 0.0) for group in groups), default=0.0)
    return least if least <= LARGE else 0.0


_SEVERITIES = {
    "zero": Severity.ERROR,
    "negative": Severity.ERROR,
    "signs": Severity.WARNING,
    "flattened": Severity.WARNING,
    "below-epsilon": Severity.ERROR,
    "swapped": Severity.WARNING,
    "small": Severity.INFO,
}
_THRESHOLDS = {"signs": SIGNS, "flattened": FLAT, "swapped": SWAPPED}
_TOLD = {
    "zero": ("made every gradient 0", "The limit is 0, which switches nothing off."),
    "negative": (
        "reversed the gradients",
        "The limit is negative: torch multiplies by limit / norm, or clamps from "
        "above.",
    ),
    "signs": (
        "was below at least {value} of all elements: only their signs are left",
        "The limit is far below the usual size of these gradients.",
    ),
    "flattened": (
        "left at most {value} of the norm in every check, and clipped most elements",
        "The limit is far below the usual size of these gradients: large and small "
        "ones become alike, and the direction changes.",
    ),
    "below-epsilon": (
        "left less than the optimizer's epsilon of {value}",
        "Adam divides by the root of its second moment plus epsilon; what is left of "
        "the gradient is so much smaller than epsilon that weights hardly move.",
    ),
    "swapped": (
        "was the limit for a norm of type below 2, and left at most {value} of the "
        "gradient in every update",
        "max_norm and norm_type may be swapped: 2 is the usual norm type.",
    ),
    "small": (
        "left at most {value} of the gradient in every update",
        "The limit is far below the norm of the gradients.",
    ),
}
_FIX = "Remove the clipping, or set a limit near the largest usual gradient."
_FIXES = {
    "swapped": "clip_grad_norm_(parameters, max_norm=1.0, norm_type=2.0).",
    "flattened": "Use clip_grad_norm_, or a limit that few values reach.",
}
_FELT = {
    True: " Under SGD the learning rate is smaller by that factor.",
    False: " An optimizer that forgets the size of gradients is hardly affected.",
}
