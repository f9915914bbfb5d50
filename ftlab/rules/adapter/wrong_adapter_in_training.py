"""The rule ADP008, wrong-adapter-in-training.

## What it does
Finds training forwards that run a different adapter than the one the optimizer holds,
and adapters that are deactivated before the backward of their own forward.

## Why is this bad?
`set_adapter` does two things: it chooses what the forward runs, and it makes that one
trainable and freezes all others. When it is called in an evaluation and not undone, the
loss is computed by one adapter while the optimizer holds a different one: neither
learns. When it is called between forward and backward, the first adapter is frozen by
the time its gradient arrives, and the gradient is dropped.

## Evidence
Which adapters are active, read of the layers at each forward with a graph and after
each backward, against the adapters whose tensors the optimizer holds at that step (a
second stage has another one, or other groups); there is no threshold. A pass counts
when none of its forwards ran an adapter of the optimizer's. The first form needs that
the choice was made while watched (*not-in-optimizer*), or that the adapter which runs
is frozen, in 2 passes at least: then it cannot be the one that is meant
(*frozen-one-active*). *left-active*: the optimizer holds both; a switch was followed by
a forward without gradients, and training went on with the adapter of that one, which
had run in none of its passes before, while the one that had learned runs in none since.
A warning where the former was loaded for use (`inference_mode` of its configuration)
and the latter was not; else only noted, for a second task may begin with an evaluation.
The other form is *frozen-before-backward*. An optimizer that was
built for another adapter from the start, while the one that runs is trainable, is
OPT002. Measured: found at the step of the first such pass. A tensor that is frozen
between forward and backward gets `.grad` None, without a message (torch 2.13). An
adapter that has gradients at such a step all the same was made trainable again in
between (`requires_grad_(True)`), and is not named.
By hand: `model.active_adapters` in the training loop, and `[n for n, p in
model.named_parameters() if p.requires_grad]`.

## What to try
1. Restore the adapter after an evaluation or a reference pass; TRL's `use_adapter` is a
   context manager for this.
2. To train two adapters at once make both active: `model.base_model.set_adapter(["a",
   "b"])`; or call backward for each one before the next set_adapter.
3. One optimizer per adapter, or one that holds both, built while both are trainable.
4. After `delete_adapter` of the trained adapter: rebuild the optimizer.

## Known problems
Alternating training, with one optimizer per adapter, is reported when the second
optimizer is neither passed nor has stepped yet: pass all, `watch(model, [first,
second])`.

## References
- huggingface/transformers#32084 (two adapters in one forward)
- huggingface/peft#1303, #2759, #2765 (active and trainable are coupled)
- huggingface/trl#4723 (a context manager for the reference adapter)
"""

import itertools

import numpy as np

from ftlab.rules.reading.adapter_states import (
    Pass,
    calls_of,
    held_adapters,
    held_at,
    needs_states,
    passes_of,
)
from ftlab.rules.reading.needs import needs_optimizers
from ftlab.rules.reading.tensors import params, records_of, text_of
from ftlab.rules.reasons.left_active import LeftActive, left_active
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps

SWITCHES = ("set_adapter", "load_adapter", "add_adapter", "delete_adapter")
"""Operations after which another adapter may be active."""


MIN_PASSES = 2
"""Passes that must have run a frozen adapter where no switch was heard."""


class WrongAdapterInTraining(Rule):
    """Finds training with an adapter that the optimizer does not hold."""

    code = "ADP008"
    status = "stable"
    requires = (needs_states, needs_optimizers)

    def check(self, run: Run) -> Results:
        """Yield one finding per form."""
        held, passes = held_adapters(run), passes_of(run)
        if not held:
            return
        calls, held_then = calls_of(run, *SWITCHES), held_at(run)
        wrong = [p for p in passes if _ran(p) and not _ran(p) & held_then(p.step)]
        if wrong and (calls or any(_ran(p) & held_then(p.step) for p in passes)):
            yield self._wrong(run, wrong, held, calls)
        elif len(wrong) >= MIN_PASSES and not _trained(run, wrong):
            yield self._frozen(run, wrong, held)
        elif left := left_active(run, held):
            yield self._left(run, left)
        arrived = _arrived(run)
        dropped = [
            each
            for each in passes
            if (_dropped(each) & held_then(each.step)) - arrived.get(each.step, set())
        ]
        if dropped:
            lost = (_dropped(each) & held_then(each.step) for each in dropped)
            yield self._dropped(run, dropped, sorted(set().union(*lost)), calls)

    def _wrong(
        self, run: Run, found: list[Pass], held: set[str], calls: list[str]
    ) -> Finding:
        first, last = found[0].step, found[-1].step
        ran, mine = sorted(_ran(found[-1])), sorted(held)
        cause, fix = _why_wrong(run, ran, mine)
        return self.error(
            f"{at_steps(first, last)}: the training forward ran adapter "
            f"{', '.join(ran)}; the optimizer holds {', '.join(mine)}",
            cause=cause,
            fix=fix,
            places=[
                *_in_turn(_tensors(run, ran), _tensors(run, mine)),
                *(Place("call", call) for call in calls or ["set_adapter"]),
                Place("optimizer", "param_groups"),
            ],
            steps=(first, last),
            reason="not-in-optimizer",
            evidence={
                "active": ", ".join(ran),
                "held": ", ".join(mine),
                "passes": len(found),
            },
            healthy="training forwards run an adapter that the optimizer holds",
        )

    def _left(self, run: Run, left: LeftActive) -> Finding:
        now, before = left.active, left.before
        return self.finding(
            Severity.WARNING if left.was_loaded else Severity.INFO,
            f"{at_steps(*left.steps)}: the training forward runs adapter {now}, which "
            f"an evaluation activated; {before}, which was trained until then and is "
            "in the optimizer too, no longer gets a gradient",
            cause=f"set_adapter({now!r}) was called for an evaluation and not undone: "
            f"it made {now} trainable and froze {before}.",
            fix=f"Call model.set_adapter({before!r}) after the evaluation, and give "
            f"the optimizer only the tensors of {before}.",
            places=[
                *_in_turn(_tensors(run, [now]), _tensors(run, [before])),
                Place("call", "set_adapter"),
            ],
            steps=left.steps,
            reason="left-active",
            evidence={"active": now, "held": before, "threshold": 0},
            healthy="the same adapter is active before and after an evaluation",
        )

    def _frozen(self, run: Run, found: list[Pass], held: set[str]) -> Finding:
        first, last = found[0].step, found[-1].step
        ran, mine = sorted(_ran(found[-1])), sorted(held)
        return self.error(
            f"{at_steps(first, last)}: every training forward ran adapter "
            f"{', '.join(ran)}, which is frozen; {', '.join(mine)}, which the "
            "optimizer holds, ran in none",
            cause=f"{', '.join(ran)} is the active adapter (a reference, or one that "
            "was loaded for a comparison). The trainable adapter is not the active "
            "one, and does not contribute to the loss.",
            fix=f"Call model.set_adapter({mine[0]!r}) before the training forward.",
            places=[
                *_in_turn(_tensors(run, mine), [Place("object", f"adapter {ran[0]}")]),
                Place("call", "set_adapter"),
            ],
            steps=(first, last),
            reason="frozen-one-active",
            evidence={
                "active": ", ".join(ran),
                "held": ", ".join(mine),
                "passes": len(found),
                "threshold": MIN_PASSES,
            },
            healthy="training forwards run an adapter that the optimizer holds",
        )

    def _dropped(
        self, run: Run, found: list[Pass], lost: list[str], calls: list[str]
    ) -> Finding:
        first, last = found[0].step, found[-1].step
        after = (each.backward.active for each in found if each.backward is not None)
        active = sorted(set().union(*after) - set(lost))
        return self.error(
            f"{at_steps(first, last)}: adapter {', '.join(lost)} ran in the forward "
            "but was no longer active at backward",
            cause="set_adapter was called between forward and backward: it freezes the "
            "deactivated adapters, and a frozen tensor's gradient is dropped.",
            fix="Call backward before the next set_adapter, or activate all of them at "
            "once: model.base_model.set_adapter([...]).",
            places=[
                *_tensors(run, lost),
                *(Place("call", call) for call in calls or ["set_adapter"]),
                *_tensors(run, active),
            ],
            steps=(first, last),
            reason="frozen-before-backward",
            evidence={"lost": ", ".join(lost), "passes": len(found)},
            healthy="an adapter stays trainable from its forward to the end of its "
            "backward",
        )


def _why_wrong(run: Run, ran: list[str], mine: list[str]) -> tuple[str, str]:
    """Return cause and fix; what was deleted cannot be made active again."""
    now, there = ", ".join(ran), run.facts.model.get("peft") or mine
    anew = "AdamW([p for p in model.parameters() if p.requires_grad])"
    left = [name for name in mine if name in there]
    if left:
        return (
            "A different adapter was activated after the optimizer was built. It is in "
            "no optimizer group, and the one that is was frozen by the switch.",
            f"Call model.set_adapter({left[0]!r}) before training continues, or build "
            f"the optimizer for {now}.",
        )
    return (
        f"The model no longer has {', '.join(mine)}: delete_adapter also deletes an "
        f"active adapter, and PEFT activates a remaining one, here {now}.",
        f"Rebuild the optimizer, and then the scheduler: {anew}, if {now} should be "
        "trained. Otherwise do not delete an adapter that the optimizer holds.",
    )


def _ran(one: Pass) -> frozenset[str]:
    """Return the adapters that took part in a forward of the pass."""
    parts = (s.active for s in one.forwards if len(s.disabled) < s.layers)
    return frozenset().union(*parts)


def _trained(run: Run, passes: list[Pass]) -> bool:
    """Tell whether a tensor of an adapter that ran was trainable at any time."""
    ran = frozenset[str]().union(*(_ran(each) for each in passes))
    names = run.names().values()
    return any(name.trainable and text_of(name, "adapter") in ran for name in names)


def _dropped(one: Pass) -> frozenset[str]:
    if one.backward is None:
        return frozenset()
    return _ran(one) - one.backward.active


def _arrived(run: Run) -> dict[int, set[str]]:
    """Return, by step, the adapters of which some tensor had a gradient above 0.

    Where a loop makes them trainable again before backward, nothing is dropped.
    """
    if "grad_l2" not in run.columns():
        return {}
    norms = run.matrix("grad_l2")
    adapters = [text_of(name, "adapter") for name in records_of(run, norms.ids)]
    above = norms.known & (np.nan_to_num(norms.values) > 0)
    found: dict[int, set[str]] = {}
    for row, column in zip(*np.nonzero(above), strict=True):
        found.setdefault(int(norms.steps[row]), set()).add(adapters[column])
    return found


def _in_turn(first: list[Place], second: list[Place]) -> list[Place]:
    """Put places of two adapters in turn, so that the first few name both."""
    pairs = itertools.zip_longest(first, second)
    return [place for pair in pairs for place in pair if place is not None]


def _tensors(run: Run, adapters: list[str]) -> list[Place]:
    names = run.names().values()
    return params([name for name in names if text_of(name, "adapter") in adapters])
