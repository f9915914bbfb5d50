"""The rule ADP027, resumed-in-part.

## What it does
Finds runs that continue with trained weights but with a fresh optimizer, a schedule
that restarts, a learning rate other than the one that was asked for, or at a step at
which training is already complete.

## Why is this bad?
Without its state Adam's first steps move every weight by the full learning rate,
whatever the gradient's size, and the warm-up runs a second time. The loss jumps right
after resuming and may settle elsewhere.
`resume_from_checkpoint` loads the optimizer's groups and the schedule after both were
created from the arguments: a new `learning_rate` is silently overwritten. `max_steps`
and `num_train_epochs` count from the start of the first run: left unchanged, `train()`
makes one more update, at or beyond the end of the schedule, and returns.

## Evidence
Before the first step: whether the optimizers hold any state, where the schedulers
stand, whether B of a trainable adapter is not 0, and the number of the first step.
- *resumed*: the first step is above 0 (a Trainer that resumes, a log that goes on), or
  the facts of the run that the adapter was trained in were given and the schedule of
  that run, by its base rates, begins again; and no optimizer holds a state. A warning.
- *schedule*: all schedulers stand at 0, the optimizers hold states, and the first step
  is above 0, or the optimizer has another learning rate than its scheduler has set: its
  state was loaded over it. A scheduler that is made for a second stage sets the rate of
  a live optimizer when it is made, and they agree. A warning.
- *trained-before*: nothing says that this is a resumed run, but the weights were
  trained before. Info: starting a second stage looks the same.
- *rate*: the first step is above 0, the optimizer was made with the arguments'
  `learning_rate`, and none of the rates that its schedule starts from is the same, up
  to 1 %. Groups with rates of their own (LoRA+) leave one that is. A warning.
- *at-its-end*: the first step is at or above the number of steps that the Trainer is to
  end at. A warning.

SGD without momentum keeps no state and is left out, as are adapters whose
initialisation is not 0 (PiSSA, OLoRA, LoftQ, ...).
Measured on a tiny Llama, AdamW at 5e-3, resumed at step 20: after 4 steps the weights
are 0.018 away from those of the run that was not interrupted, and 0 with the state.
With transformers 5.23, resumed at step 8 of a run at 3e-3 with `learning_rate=1e-4`:
all groups are at 3e-3; resumed at step 12 with `max_steps=12` it makes 1 update, with
`max_steps=24` it makes 12.
By hand: `len(optimizer.state)`, `scheduler.last_epoch`, `trainer.state.global_step` and
`max_steps`, and `trainer.lr_scheduler.base_lrs` against `trainer.args.learning_rate`.

## What to try
1. `trainer.train(resume_from_checkpoint=folder)`, with optimizer.pt and scheduler.pt in
   the folder (save_only_model omits them), and `max_steps`, or `num_train_epochs`,
   raised to the total of both runs.
2. In a custom loop save and load `optimizer.state_dict()` and `scheduler.state_dict()`
   with the adapter.
3. For another rate, or a second stage on different data: load only the weights,
   `PeftModel.from_pretrained(base, folder, is_trainable=True)`, and warm up again. Or
   set `lr_scheduler.base_lrs` and each group's `lr` and `initial_lr` in a callback's
   `on_train_begin`.

## Known problems
A resume without the optimizer, in a hand-written loop that counts from 0, cannot be
told from a second stage. Optimizers that are first seen at their first step are not
judged. Leaving the argument at its default, because the checkpoint has the rate, is
reported too, and so is a script that is run again after completion and resumes
automatically.

## References
- huggingface/peft#859, lm-sys/FastChat#1280, tloen/alpaca-lora#72
- nerfstudio-project/nerfstudio#2203, lightly-ai/lightly-train#301 (the schedule alone
  was not loaded)
- ace-step/ACE-Step-1.5#742, EvolvingLMMs-Lab/OneVision-Encoder#65
- huggingface/transformers#27749, #34053 (rates after resume_from_checkpoint)
- huggingface/transformers, `Trainer.train(resume_from_checkpoint=...)`
"""

import math
from collections.abc import Mapping
from typing import Any

from ftlab.rules.reading.saving import PLAIN, first_facts, needs_model, span, start
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import an, number

SAME = 1e-2
"""Relative distance up to which two rates are the same."""


class ResumedInPart(Rule):
    """Finds runs of which not all goes on where it was."""

    code = "ADP027"
    caused_by = ("EXP015",)
    status = "stable"
    layer = "rollback"
    requires = needs_model

    def check(self, run: Run) -> Results:
        """Yield findings for the optimizers or the schedulers, the rate, the end."""
        yield from self._states(run)
        yield from self._rates(run)
        yield from self._end(run)

    def _states(self, run: Run) -> Results:
        facts, first = start(run), first_facts(run)
        states = list(facts.get("optimizer_states", ()))
        epochs = list(facts.get("last_epochs", ()))
        if not states:
            if first.step > 0 or not run.facts.optimizers:
                yield self.cannot_tell(
                    "no optimizer was known before the first step",
                    "pass the optimizer: ftlab.watch(model, optimizer)",
                )
            return
        taught = _trained_adapters(facts)
        resumed = first.step > 0 or (bool(taught) and _begins_again(facts, epochs))
        if not any(states) and _keeps_state(first.optimizers) and (resumed or taught):
            yield self._without_state(run, taught, epochs, resumed=resumed)
        elif any(states) and epochs and not any(epochs):
            loaded_over = facts.get("overwritten_rates") or []
            if first.step > 0 or loaded_over:
                yield self._schedule(run, loaded_over)

    def _without_state(
        self, run: Run, taught: list[str], epochs: list[int], *, resumed: bool
    ) -> Finding:
        first = first_facts(run)
        kind = str(first.optimizers[0].get("class", "optimizer"))
        where = (
            f"training continues at step {first.step}" if first.step else "at step 0"
        )
        names = ", ".join(taught)
        with_what = f" with adapter {names}, whose lora_B is not 0" if taught else ""
        again = ", and the schedule at 0" if epochs and not any(epochs) else ""
        return self.finding(
            Severity.WARNING if resumed else Severity.INFO,
            f"{where}{with_what}, and {an(kind)} without any state{again}",
            cause="The weights were loaded, but not the optimizer's moments and step "
            "count: its next steps have full size in every element."
            if resumed
            else "The adapter was trained before, or its B is random, and the "
            "optimizer is new. Fine for a second stage; when resuming, moments and "
            "schedule are lost.",
            fix="Load the optimizer's and the scheduler's state with the weights: "
            "trainer.train(resume_from_checkpoint=...), or load_state_dict of both.",
            places={
                "optimizer": "state",
                "call": ["lr_scheduler.last_epoch"] if again else (),
            },
            steps=span(run, first.step),
            reason="resumed" if resumed else "trained-before",
            evidence={
                "states": 0,
                "first_step": first.step,
                "last_epoch": max(epochs, default=-1),
            },
            healthy="a resumed optimizer holds a state for every parameter",
        )

    def _schedule(self, run: Run, loaded_over: list[list[float]]) -> Finding:
        first = first_facts(run).step
        goes_on = f"training continues at step {first}" if first else "at step 0"
        rates = ""
        if loaded_over:
            now, set_to = loaded_over[0]
            rates = f", with {number(set_to)} where the optimizer has {number(now)}"
        return self.warning(
            f"{goes_on} with a used optimizer, but every schedule is at 0{rates}: the "
            "warm-up runs again",
            cause="The optimizer's state was loaded, but not the scheduler's.",
            fix="scheduler.load_state_dict(...) with the optimizer's; a Trainer does "
            "this if scheduler.pt is in the checkpoint.",
            places={
                "call": ["lr_scheduler.last_epoch", "scheduler.load_state_dict"],
                "optimizer": "lr",
            },
            steps=span(run, first),
            reason="schedule",
            evidence={"first_step": first, "last_epoch": 0},
            healthy="a resumed scheduler is at the step at which the run continues",
        )

    def _rates(self, run: Run) -> Results:
        first, facts = first_facts(run), start(run)
        asked = (first.training.get("args") or {}).get("learning_rate")
        rates = [float(each) for each in facts.get("base_rates", ()) if each]
        if not isinstance(asked, int | float) or not asked or not rates:
            return
        known = [each for each in facts.get("made_with", ()) if each is not None]
        if not any(_is_same(each, asked) for each in known):
            return
        if first.step > 0 and not any(_is_same(each, asked) for each in rates):
            yield self._rate(run, asked, rates)

    def _rate(self, run: Run, asked: float, rates: list[float]) -> Finding:
        first = first_facts(run).step
        rate = max(rates)
        return self.warning(
            f"training continues at step {first} with a schedule of {rate:.3g}; "
            f"learning_rate={asked:.3g} is not used",
            cause="The checkpoint's optimizer.pt and scheduler.pt contain the rates of "
            "the previous run, and overwrite those of the arguments.",
            fix="Load only the weights and start a new run, or set the rates of "
            "lr_scheduler.base_lrs and the groups in a callback's on_train_begin.",
            places={
                "config": "learning_rate",
                "optimizer": "lr",
                "file": "scheduler.pt",
            },
            steps=span(run, first),
            reason="rate",
            evidence={"ratio": rate / asked, "asked": asked, "used": rate},
            healthy="a resumed schedule starts from the rate in the arguments",
        )

    def _end(self, run: Run) -> Results:
        first = first_facts(run)
        end = first.training.get("max_steps")
        trainer = first.training.get("trainer_class")
        if not trainer or not isinstance(end, int) or not 0 < end <= first.step:
            return
        yield self.warning(
            f"the {trainer} resumes at step {first.step} of {end}: nothing is left to "
            "train",
            cause="max_steps and num_train_epochs count from the start of the first "
            "run, and the checkpoint is at their end: train() makes one update and "
            "returns.",
            fix="Raise max_steps or num_train_epochs to the total of both runs; or "
            "load only the weights, without resume_from_checkpoint.",
            places={"config": ["max_steps", "num_train_epochs"], "call": "train"},
            steps=span(run, first.step),
            reason="at-its-end",
            evidence={"first_step": first.step, "end": end},
            healthy="the run's last step is above that of its checkpoint",
        )


def _trained_adapters(facts: Mapping[str, Any]) -> list[str]:
    """Name trainable adapters whose B is not 0 although it begins at 0."""
    return [
        repr(name)
        for name, row in (facts.get("adapters") or {}).items()
        if row["trainable"] and row["init"] in PLAIN and row["zero_b"] < row["pairs"]
    ]


def _begins_again(facts: Mapping[str, Any], epochs: list[int]) -> bool:
    """Tell whether the schedule that the adapter was trained by stands at 0 again."""
    trained = facts.get("trained_as") or {}
    rates = facts.get("base_rates")
    return bool(rates) and trained.get("base_rates") == rates and not any(epochs)


def _keeps_state(optimizers: tuple[Mapping[str, Any], ...]) -> bool:
    """Tell whether any optimizer has something to remember."""
    return any(
        each.get("class") != "SGD"
        or any(group.get("momentum") for group in each.get("groups", ()))
        for each in optimizers
    )


def _is_same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=SAME)
