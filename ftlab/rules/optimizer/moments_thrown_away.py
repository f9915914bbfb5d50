"""The rule OPT023, moments-thrown-away.

## What it does
Finds training in which the optimizer starts again and again with empty moments: it is
recreated for the same weights, or its state is cleared. Also finds Adam's moments set
to 0 while its step count continues.

## Why is this bad?
Moments are averages over about ten (first) and about a thousand (second) gradients. A
restarted Adam divides the first gradient by itself: each weight moves by the full
learning rate, in the direction of one batch, with no warm-up. SGD loses its momentum.
Nothing fails, and between the restarts the loss looks normal.

## Evidence
`moments_begun_anew`, counted over the whole run: at each step up to 8 parameters are
checked, on the host. One counts when it had moments after an earlier update, its last
optimizer has none before this one, and has some after it. Found at the 3rd time. The
reason is `made-anew`, or `cleared` where it was the same optimizer each time.
A step is ignored if the weights were written to as well, or if adapters were added,
loaded, merged, unloaded or switched before it: there is something new to train. So is
an optimizer whose state is loaded before its first step.
*count-kept*: before an update the second moments of all of these parameters are 0 and
not after it, and Adam's step count continues from n. `moments_excess` is how many times
too large the updates become, of a steady gradient, in the worst of the next 256: the
largest of (1 - b1^k) / (1 - b1^(n+k)) over the root of (1 - b2^k) / (1 - b2^(n+k)).
Found above 3, once 3 updates were made and where the learning rate is never twice what
it was at that update: a warm-up makes up for it. With betas of 0.9 and 0.999 it is 6.6
in the end, 2.1 at n = 100; with 0.9 and 0.99 at most 2.1, with 0.9 and 0.95 1.1.
Measured on a small Llama, 64 steps of AdamW, mean loss of the last 8 (two seeds): in
full fine-tuning at a rate of 1e-2 0.64 and 0.49, and with a new optimizer every 4 steps
2.00 and 1.78, every 16 steps 1.18 and 1.02; at 1e-3 2.13 and 2.05 against 2.39 and
2.21. LoRA at 1e-2: 4.40 and 4.43 against 4.47 and 4.46. With an n of 20000 the largest
element of the first update is 3.2 times the rate, and of the sixth 6.1 times.
By hand: `next(iter(optimizer.state.values()))["step"]` after each epoch: it must grow.

## What to try
1. Create the optimizer once, before the loop over epochs.
2. To save memory, use an optimizer with smaller moments (8-bit Adam, Adafactor).
3. Where a restart is wanted, warm the learning rate up again.
4. To reset the moments, clear the whole state, including the step count:
   `optimizer.state.clear()`. Save it whole: `optimizer.state_dict()`.

## Known problems
Restarts on purpose that change neither weights nor adapters are reported. One or two
restarts are not: a second stage or a second task begins like this. *count-kept* is
judged for torch's Adam and AdamW; ReLoRA's pruning, which keeps a part of the moments,
is not.

## References
- alan-turing-institute/deepsensor#47 (an optimizer for each epoch)
- Guitaricet/relora#10 (moments set to 0, and the count of steps kept)
- torch, `torch.optim.Adam`: `state["step"]` and the bias correction
"""

import numpy as np

from ftlab.rules.rule import Finding, Results, Rule, Run, needs_step_values
from ftlab.rules.words import at_steps

COLUMN = "moments_begun_anew"

RESTARTS = 3
"""Times that it must happen: a second stage is no fault."""

EXCESS = 3.0
"""Times that updates may be too large."""

UPDATES, WARMED = 3, 2.0
"""Updates that are waited for, and how far a warm-up raises the rate at least."""

SOMETHING_NEW = frozenset(
    (
        "merge",
        "unmerge",
        "unload",
        "load",
        "set_adapter",
        "add_adapter",
        "load_adapter",
        "delete_adapter",
    )
)
"""Operations after which an optimizer may begin anew."""


class MomentsThrownAway(Rule):
    """Finds optimizers that begin anew all the time."""

    code = "OPT023"
    status = "stable"
    requires = needs_step_values(
        COLUMN,
        "whether the optimizer kept its moments",
        "ftlab.watch(model, optimizer) with the standard probes",
    )

    def check(self, run: Run) -> Results:
        """Yield one finding over all restarts, and one of moments set to 0."""
        yield from self._anew(run)
        emptied = _emptied(run)
        if emptied:
            yield self._count_kept(run, emptied)

    def _count_kept(self, run: Run, lines: list[int]) -> Finding:
        table, kind = run.steps, _kind(run)
        steps = table.step[lines].tolist()
        count = int(table["moments_emptied_at"][lines[0]])
        excess = float(table["moments_excess"][lines].max())
        return self.warning(
            f"{at_steps(steps[0], steps[-1])}: the moments of {kind} were 0 but its "
            f"step count was {count}: updates become {excess:.1f} times too large",
            cause="Moments were zeroed, or filled with zeros for a checkpoint without "
            "any, but state['step'], which bias correction uses, was kept.",
            fix="Save and load the whole state; to restart, clear all of it: "
            "optimizer.state.clear().",
            places={
                "optimizer": "state",
                "call": "optimizer.load_state_dict",
                "step": str(steps[0]),
            },
            steps=(steps[0], steps[-1]),
            reason="count-kept",
            evidence={"count": count, "excess": excess, "threshold": EXCESS},
            healthy="moments and a step count that belong together",
        )

    def _anew(self, run: Run) -> Results:
        table = run.steps
        count = np.nan_to_num(table[COLUMN])
        begun = np.flatnonzero(np.diff(count) > 0) + 1
        lines = [line for line in begun.tolist() if not _excused(run, line)]
        times = int(count[-1]) - (len(begun) - len(lines))
        if not lines or times < RESTARTS:
            return
        steps = table.step[lines].tolist()
        cleared = bool(table["moments_cleared"][-1] == count[-1])
        kind = _kind(run)
        what = "its state was cleared" if cleared else "it was recreated"
        yield self.warning(
            f"{at_steps(steps[0], steps[-1])}: {kind} started with empty moments for "
            f"the {_nth(times)} time: {what}",
            cause="optimizer.state is emptied within the loop."
            if cleared
            else f"{kind}(...) is called within the loop, for the same parameters.",
            fix="Do not clear optimizer.state."
            if cleared
            else "Create the optimizer once, before the loop over epochs.",
            places={
                "optimizer": "state",
                "call": "optimizer.state.clear" if cleared else kind,
            },
            steps=(steps[0], steps[-1]),
            reason="cleared" if cleared else "made-anew",
            evidence={"restarts": times, "threshold": RESTARTS},
            healthy="moments kept from the first update to the last",
        )


def _emptied(run: Run) -> list[int]:
    """Return the lines at which empty moments went on at a late step, at full rate."""
    table = run.steps
    if "moments_excess" not in table.columns:
        return []
    rates = np.nan_to_num(table["lr"]).max(axis=1, initial=0.0)
    found = np.nan_to_num(table["moments_excess"][: 1 - UPDATES]) > EXCESS
    full = rates[: 1 - UPDATES] * WARMED > rates.max(initial=0.0)
    return [int(line) for line in np.flatnonzero(found & full)]


def _excused(run: Run, line: int) -> bool:
    """Tell whether there was something new to train at a step."""
    table = run.steps
    if "weights_written" in table.columns and table["weights_written"][line] > 0:
        return True
    near = table.step[[line - 1, line]].tolist()
    return any(e.op in SOMETHING_NEW and e.step in near for e in run.ledger)


def _kind(run: Run) -> str:
    optimizers = run.facts.optimizers
    return str(optimizers[-1].get("class", "")) if optimizers else "the optimizer"


def _nth(count: int) -> str:
    return {3: "third"}.get(count, f"{count}th")
