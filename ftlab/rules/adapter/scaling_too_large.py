"""The rule ADP018, scaling-too-large.

## What it does
Finds adapters whose scaling makes them outgrow their base weight, and tells this apart
from a learning rate that does so.

## Why is this bad?
An optimizer step's change of B A is multiplied by the scaling. With `use_rslora=True`
that is alpha / sqrt(r), and the usual alpha = 2 r becomes 2 sqrt(r): 16 for r = 64,
eight times what the learning rate was tuned for. The first steps throw the model off,
the loss jumps and settles above its start.

## Evidence
`scaling` and `ratio` (norm of scaling x B A over the norm of the base weight) of each
active pair, at the measurements of the first 64 steps. Reported when
- alpha and r of more than half of the pairs give a scaling of at least 8, four times
  that of the common alpha = 2 r, and
- the median of the pairs' ratios is above 1, the adapter is larger than the weight, and
  grew since the first measurement (so that PiSSA, which starts large, is none), and
- with a scaling of 2 in its place the median would be at most half.
An error where the median of the latest 24 losses, of the first 64 steps and with 15 of
them or more, is not at least 1 % below the first loss; else a note: an adapter may
outgrow small weights and learn well. Measured on a Llama, GPT-2, T5, OPT and Mixtral of
width 64 that knew one of two tasks and were trained on both for 64 steps, with scalings
of 8, 16 and 64 and learning rates of 1e-4 to 1e-2. In 24 runs the adapter outgrew the
weight. The 14 whose last 16 losses were at 0.98 of the first or above had a median of
1.00 to 1.79; the other 10, at 0.66 to 0.95, one of 0.68 to 0.96. After 24 steps 8 of
these 10 were at 1.01 to 1.13: such a loss jumps and comes back. Of 38 runs from random
weights one is an error, at 0.992; the others are at 0.78 to 0.99, and so is this fault:
there a loss has no height to be thrown to. On the gallery's Llama the median is 0.998
and 1.000 in the two faults after 16 steps, and 0.987 with the same scaling of 8 where
the loss falls.
A note also at the first step where rsLoRA is on and alpha is 2 r or more with a scaling
of 8 or more. Measured with r = 64, AdamW and rsLoRA on all linear layers of a tiny
Llama, after 16 steps with learning rates of 1e-2, 1e-3 and 1e-4: ratios of 42, 3.0 and
0.46 with alpha = 128, of 5.2, 0.60 and 0.06 with alpha = 16, and losses of 4.81, 4.64
and 4.43 against 4.83, 4.34 and 4.73 (4.83 at the start). Healthy runs at ordinary
scalings reach ratios of 0.1 to 13 within 64 steps on such small weights, so the ratio
alone proves nothing; with a scaling of 8 and 5e-5 it was 0.47.
By hand: `{n: m.scaling for n, m in model.named_modules() if hasattr(m, "lora_alpha")}`.

## What to try
1. With rsLoRA: `lora_alpha = 2 * sqrt(r)`; for r = 64 that is 16.
2. Or keep alpha and divide the learning rate by sqrt(r).
3. Without rsLoRA: `lora_alpha` of r to 2 r.

## Known problems
A large scaling with a learning rate that was tuned for it is info. An error in the
first steps becomes info where the loss recovers within 64. Weights that are almost 0
make any ratio large; so the median over the pairs is judged.

## Known myths
"alpha should be 2 r": measured on the same tiny Llama with AdamW, alpha / r of 0.5, 2
and 8 and the learning rate of B divided likewise gave the same loss after 60 steps,
4.2712 each time: alpha and the learning rate of B act as one, and their product can be
too large.

## References
- Kalajdzievski 2023, rsLoRA, arXiv:2312.03732
- unslothai/notebooks#144 (alpha near sqrt(r) when rsLoRA is on), vllm-project/vllm#6909
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.reading.lora import expected_scaling, needs_pairs
from ftlab.rules.reading.tensors import records_of
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import counted, number

USUAL = 2.0
"""alpha / r of the common recipe, alpha = 2 r."""

LARGE = 4 * USUAL
"""Scaling from which it may be the reason."""

OUTGROWN = 1.0
"""Ratio of the adapter's norm to the weight's above which it has taken over."""

FIRST = 64
"""Steps within which a scaling that is too large shows."""


FALL = 0.01
"""Share of its start by which a loss has fallen that is not thrown off."""

LOSSES = (15, 24)
"""Losses after the first one that it takes to say that; as many as the latter count."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """What one adapter's pairs show: scaling, and the median ratio when it was high."""

    scaling: float
    ratio: float
    step: int


class ScalingTooLarge(Rule):
    """Finds adapters that outgrow the base weight by their scaling."""

    code = "ADP018"
    status = "stable"
    requires = needs_pairs("ratio", "the size of each adapter against its base weight")

    def check(self, run: Run) -> Results:
        """Yield one finding per adapter."""
        ratio = run.matrix("ratio", "adapters").measured()
        pairs = records_of(run, ratio.ids, "adapters")
        active = [i for i, pair in enumerate(pairs) if pair.meta.get("active", True)]
        for adapter in dict.fromkeys(str(pairs[i].meta.get("adapter")) for i in active):
            mine = [i for i in active if str(pairs[i].meta.get("adapter")) == adapter]
            large = [i for i in mine if expected_scaling(pairs[i]) >= LARGE]
            # Some pairs alone are a pattern's, or were scaled by hand.
            if 2 * len(large) <= len(mine):
                continue
            early = ratio.steps < FIRST
            measured = _outgrown(
                ratio.steps[early],
                ratio.values[early][:, large],
                [pairs[i] for i in large],
            )
            if measured is not None:
                harmed = measured.ratio > OUTGROWN and _learns_nothing(run)
                told = [pairs[i] for i in large]
                yield self._finding(adapter, told, measured, harmed=harmed)

    def _finding(
        self,
        adapter: str,
        pairs: Sequence[NameRecord],
        measured: _Measured,
        *,
        harmed: bool,
    ) -> Finding:
        outgrown = measured.ratio > OUTGROWN
        by_root = bool(pairs[0].meta.get("use_rslora"))
        rank, alpha = float(pairs[0].meta["r"]), float(pairs[0].meta["alpha"])
        formula = "alpha / sqrt(r)" if by_root else "alpha / r"
        grown = f"the adapter is {number(measured.ratio)} times as large as the weight"
        return self.finding(
            Severity.ERROR if harmed else Severity.INFO,
            f"step {measured.step}: adapter {adapter} of {counted(len(pairs), 'pair')} "
            f"is scaled by {number(measured.scaling)} = {formula} "
            f"(alpha {number(alpha)}, r {number(rank)})"
            f"{'; ' + grown if outgrown else ''}",
            cause="alpha was kept from a recipe without rsLoRA, which divides by r."
            if by_root
            else "lora_alpha is many times the rank.",
            fix=f"lora_alpha={round(USUAL * rank**0.5) if by_root else round(2 * rank)}"
            f", or a learning rate {number(measured.scaling / USUAL)} times smaller.",
            places={
                "config": [
                    "lora_alpha",
                    *(["use_rslora"] if by_root else ()),
                    "scaling",
                ],
                "module": [str(pair.meta["module"]) for pair in pairs],
            },
            steps=(measured.step, measured.step),
            evidence={
                "scaling": measured.scaling,
                "ratio": measured.ratio,
                "threshold": OUTGROWN,
                "threshold_scaling": LARGE,
                "threshold_fall": FALL,
            },
            healthy="the adapter stays smaller than its base weight",
        )


def _learns_nothing(run: Run) -> bool:
    """Tell whether the loss has not left its start by now, or is not finite."""
    least, most = LOSSES
    losses = run.steps["loss"][run.steps.step <= FIRST]
    if len(losses) <= least:
        return False
    latest = losses[1:][-most:]
    return not float(np.median(latest)) < (1 - FALL) * float(losses[0])


def _outgrown(
    steps: NDArray[np.int64], ratios: NDArray[np.float32], pairs: Sequence[NameRecord]
) -> _Measured | None:
    """Return when the adapter outgrew the weight, or what its scaling alone says."""
    if not len(steps):
        return None
    scaling = float(np.median([expected_scaling(pair) for pair in pairs]))
    medians = np.nan_to_num(np.nanmedian(ratios, axis=1), posinf=np.inf)
    fair = medians * USUAL / scaling
    taken = (medians > OUTGROWN) & (medians > 2 * medians[0]) & (2 * fair <= medians)
    if taken.any():
        row = int(np.argmax(taken))
        return _Measured(scaling, float(medians[row]), int(steps[row]))
    by_root = all(pair.meta.get("use_rslora") for pair in pairs)
    doubled = all(
        float(pair.meta.get("alpha", 0)) >= USUAL * float(pair.meta.get("r", 1))
        for pair in pairs
    )
    if not (by_root and doubled):
        return None
    return _Measured(scaling, float(medians[0]), int(steps[0]))
