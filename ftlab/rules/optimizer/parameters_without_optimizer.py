"""The rule OPT002, parameters-without-optimizer.

## What it does
Finds trainable parameters that are in no group of any optimizer.

## Why is this bad?
They receive gradients and never change. Nothing fails: the loss still moves if other
parameters are trained; with LoRA, where there are none, it simply stays flat.

## Evidence
The model's parameters with `requires_grad` against the parameter groups of all known
optimizers, compared by identity, as read when the run began and again whenever either
changed. There is no threshold on how many. It takes two steps, so that an optimizer
that was not passed to ftlab is seen. A parameter that moves is dropped from the list,
because something does train it (an optimizer inside backward, an update by hand): its
update was measured above 0, or its norm differs between two measurements. So is one
whose float32 copy the optimizer holds (master weights): in bf16 most of them do not
change at most steps. So is one that another tensor replaces while the model runs
(`torch.func.functional_call`): that one is trained; and one that had no gradient at any
step since then, such as an adapter that was active for an evaluation. What has changed
between two steps counts from the next step on, and what changes after the last one
(another adapter activated, or everything unfrozen, to use the model) never counts.

Where all of them belong to one adapter and the optimizer holds a different one of the
model, the order in which the adapters were added tells the two mistakes apart: an
optimizer that holds the newer one was built for it, and it was never activated
(*adapter-not-active*: `add_adapter` and `load_adapter` do not do that); one that holds
the older one was built before the change (*built-for-another-adapter*). Where it holds
other parameters of the same adapter in each of the layers (*left-out*), it was built
after them, from an incomplete list. Anything else is *built-before*.
Measured: DoRA with groups for lora_A and lora_B, 4 of 12 tensors, all magnitudes.
Where an unknown optimizer holds all that is missing, and nothing that a known one
holds, it is reported as info (*waiting*): its turn comes later, or its `step()` is
missing. It is searched for among all objects, once for each set of missing parameters.
By hand: `held = {id(p) for g in optimizer.param_groups for p in g["params"]}`, then
`[n for n, p in model.named_parameters() if p.requires_grad and id(p) not in held]`.

## What to try
1. Build the optimizer after get_peft_model, after set_adapter and after unfreezing.
2. `optimizer.add_param_group({"params": [...]})` for what became trainable later.
3. If they should not be trained: `requires_grad_(False)`, which also saves memory.

## Known problems
An optimizer that is created only when its phase begins is unknown until then, and its
parameters are reported if they are trainable before: freeze them until then.

## References
- huggingface/peft#1303 (a second adapter that does not train)
- TrainCheck, PT-FORUM-84911 (step changes no parameter)
"""

from collections.abc import Sequence

from ftlab.rules.reading.masters import mastered, moving
from ftlab.rules.reading.needs import needs_optimizers
from ftlab.rules.reading.outside import held_outside, made_anew
from ftlab.rules.reading.trained_with import (
    Holds,
    idle_since,
    missing_in,
    steps_since,
    was_trained_with,
)
from ftlab.rules.reasons.without_optimizer import without_optimizer
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import counted, in_words

MIN_STEPS = 2
"""Steps after which every optimizer that takes part has been seen."""


class ParametersWithoutOptimizer(Rule):
    """Finds trainable parameters that no optimizer updates."""

    code = "OPT002"
    status = "stable"
    requires = needs_optimizers
    caused_by = ("ADP008", "ADP003", "OPT001")

    def check(self, run: Run) -> Results:
        """Yield one finding for all parameters in no group."""
        listed_names = missing_in(run.facts)
        still = _missing_since(listed_names)
        if not listed_names or not was_trained_with(run, still):
            return
        if len(run.steps) < MIN_STEPS:
            yield self.cannot_tell(
                f"fewer than {MIN_STEPS} steps were recorded; an unknown optimizer may "
                "hold these parameters",
                f"let it run for {MIN_STEPS} steps, or pass every optimizer to watch",
            )
            return
        trained = mastered(run) | moving(run) | held_outside(run) | made_anew(run)
        trained |= idle_since(run, steps_since(run, still)[0])
        missing = [name for name in listed_names if name not in trained]
        later = _waiting(run)
        if forgotten := [name for name in missing if name not in later]:
            yield self._finding(run, forgotten)
        elif missing:
            yield self._later(run, missing)

    def _finding(self, run: Run, missing: Sequence[str]) -> Finding:
        total = max(len(run.names()), len(missing))
        first, last = steps_since(run, _missing_since(missing))
        why = without_optimizer(run, missing)
        return self.error(
            f"step {first}: {len(missing)} of {counted(total, 'trainable tensor')} "
            f"{'is' if len(missing) == 1 else 'are'} in no optimizer group: "
            f"{in_words(missing)}",
            cause=why.cause,
            fix=why.fix,
            places=[
                *why.places,
                *(Place("param", name) for name in missing),
                Place("optimizer", "optimizer 0"),
            ],
            steps=(first, last),
            reason=why.kind,
            evidence={"missing": len(missing), "trainable": total, "threshold": 0},
            healthy="every trainable parameter is in one group of one optimizer",
        )

    def _later(self, run: Run, missing: Sequence[str]) -> Finding:
        first, last = steps_since(run, _missing_since(missing))
        return self.note(
            f"step {first}: {counted(len(missing), 'trainable tensor')} wait for an "
            f"optimizer that has not stepped: {in_words(missing)}",
            cause="Another optimizer holds them, was not passed to ftlab and has not "
            "stepped so far. Fine if its turn comes later.",
            fix="Pass all optimizers, ftlab.watch(model, [first, second]), and call "
            "step() on each.",
            places={"param": missing, "optimizer": "optimizer 1"},
            steps=(first, last),
            reason="waiting",
            evidence={"missing": len(missing), "threshold": 0},
            healthy="every optimizer steps",
        )


def _waiting(run: Run) -> frozenset[str]:
    """Name what an optimizer holds that is there and was not seen to step."""
    optimizers = run.facts.optimizers
    return frozenset(optimizers[0].get("waiting", ()) if optimizers else ())


def _missing_since(names: Sequence[str]) -> Holds:
    """Ask for facts by which all of ``names`` are in no group."""
    return lambda facts: set(names) <= set(missing_in(facts))
