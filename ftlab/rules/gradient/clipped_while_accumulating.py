"""The rule GRD008, clipped-while-accumulating.

## What it does
Finds loops that clip the gradients after each micro-batch, while they are still being
accumulated.

## Why is this bad?
Each call scales what has been summed so far down to the limit, and the next micro-batch
is added at its full size. The first of K micro-batches is scaled down up to K times,
the last once: the last ones dominate the update, and accumulation gains little.

## Evidence
The order of calls: a clipping by norm, then a forward and a backward with nothing
cleared in between, then a clipping again, before the optimizer steps; and the factor
that each clipping applied. Found in 3 updates in a row whose early clippings all
shrank the gradients (factor below 0.99). Clipping groups one after the other, and
clipping the gradient of one loss before another one is added, are not reported: the
first has no backward in between, the second no clipping after each backward.
Measured on a small OPT with four micro-batches and max_norm 0.005: three clippings too
many in each of 12 updates, with factors down to 0.05; with one per update none.
By hand: print a line at each `clip_grad_norm_`, `backward` and `step`; read the order.

## What to try
1. Clip once per update, after the last backward and before `optimizer.step()`.
2. With accelerate: `if accelerator.sync_gradients: accelerator.clip_grad_norm_(...)`.

## Known problems
Clipping by value is not checked.

## References
- swathikirans/GSM#22 (clip(clip(g1) + g2) and clip(g1 + g2))
- huggingface/diffusers#721, tenstorrent/tt-metal#17568 (clip when all are summed)
- accelerate, "Performing gradient accumulation"
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.step import LedgerEntry
from ftlab.rules.rule import Rule, needs_operations
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

UPDATES = 3
"""Updates in a row."""

SHRUNK = 0.99
"""Factor below which a clipping has changed something."""


@dataclass(slots=True)
class _Update:
    """The clippings of one update: those after which another backward came, and all."""

    step: int = -1
    early: list[LedgerEntry] = field(default_factory=list)
    waiting: list[LedgerEntry] = field(default_factory=list)
    forwarded: bool = False
    bare: bool = False

    @property
    def wrong(self) -> bool:
        """Whether each backward was followed by a clipping that shrank something."""
        factors = [entry.detail.get("coefficient", 1.0) for entry in self.early]
        return not self.bare and bool(factors) and all(f < SHRUNK for f in factors)


class ClippedWhileAccumulating(Rule):
    """Finds clippings of sums that are not complete yet."""

    code = "GRD008"
    name = "clipped-while-accumulating"
    since = "0.1.0"
    status = "stable"
    requires = (
        needs_operations("clip", "a clipping of gradients", "let it run for a step"),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether gradients are clipped, or nothing has been stepped yet."""
        ops = {entry.op for entry in run.ledger}
        return "clip" in ops or "step" not in ops

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding over the latest updates."""
        found: list[_Update] = []
        for update in _updates(run.ledger):
            found = [*found, update] if update.wrong else []
        if len(found) >= UPDATES:
            yield self._finding(found)

    def _finding(self, found: Sequence[_Update]) -> Finding:
        first, last = found[0].step, found[-1].step
        early = len(found[-1].early)
        factors = [e.detail["coefficient"] for u in found for e in u.early]
        return self.finding(
            Severity.WARNING,
            f"{at_steps(first, last)}: gradients were clipped {early} times before "
            f"each update was complete, down to {number(min(factors))} of the "
            "accumulated sum",
            cause="clip_grad_norm_ is called in the loop over micro-batches: the sum "
            "so far is scaled down again and again, and the last micro-batch outweighs "
            "the first.",
            fix="Clip once per update, after its last backward; with accelerate, only "
            "if accelerator.sync_gradients.",
            places=[
                Place("call", "torch.nn.utils.clip_grad_norm_"),
                Place("config", "max_grad_norm"),
            ],
            steps=(first, last),
            evidence={
                "reason": "between-backwards",
                "updates": len(found),
                "early_clips": early,
                "factor": float(min(factors)),
                "threshold": UPDATES,
            },
            healthy="one clipping per update, right before optimizer.step()",
        )


def _updates(entries: Sequence[LedgerEntry]) -> Iterator[_Update]:
    """Cut the ledger at the optimizers' steps."""
    now = _Update()
    backwards = 0
    for entry in entries:
        if entry.op in ("step", "skip"):
            now.step = entry.step
            now.bare |= not now.waiting
            if backwards:
                yield now
            now, backwards = _Update(), 0
        elif entry.op == "zero_grad":
            now, backwards = _Update(), 0
        elif entry.op == "clip" and entry.target == "norm":
            now.waiting, now.forwarded = [*now.waiting, entry], False
        elif entry.op == "forward" and entry.detail.get("grad_enabled"):
            now.forwarded = True
        elif entry.op == "backward":
            # A backward that no clipping follows: what is clipped is one loss of many.
            now.bare |= backwards > 0 and not (now.waiting and now.forwarded)
            now.early += now.waiting
            now.waiting = []
            backwards += 1
