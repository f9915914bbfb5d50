"""The rule ADP045, frozen-adapter-thawed.

## What it does
Finds adapters that were loaded for inference, or frozen when the run began, but are
trained along with one created for training, or with weights outside of adapters.

## Why is this bad?
The finished adapter of a first stage is changed by the training of the second one. It
is no longer what was evaluated and published, and the second one does not fit the first
one as saved on disk: both were trained together, but one of them is saved.

## Evidence
`inference_mode` of the configurations: PEFT sets it for an adapter that is loaded
without `is_trainable=True`. A finding when such an adapter and another one without it
are active in the same forward, and tensors of both are in an optimizer and have
gradients other than 0 at the same step. There is no threshold. Two that were both
loaded, and adapters that take turns, are left alone.
- *thawed-by-a-look*: all its tensors were frozen when the run began, and learn after
  `disable_adapter` was left, without a `set_adapter`. Nobody asked for that.
- *thawed-by-a-switch*: all its tensors were frozen when the run began, and training
  steps ran both. Then the model was run without gradients with other adapters active,
  and set_adapter made the same two active again: it thaws what it activates. So it is
  after a look at one of them alone.
- *thawed-by-a-look*, with no second adapter: it was frozen when the run began, weights
  outside of adapters (a value head, say) learned without it, and it learns with them
  from the first step after `disable_adapter` was left on. One that was frozen again
  after the look, and thawed later, was thawed by somebody.
- *loaded-for-use*: it was trainable before the run began, or set_adapter named it. This
  is info, since training both on purpose takes the same calls. One that was not loaded
  for inference is not reported then.

Measured on peft 0.21.2: the frozen one requires gradients again after `with
model.disable_adapter():`, for leaving it calls set_adapter on each layer, and after
`set_adapter([first, second])`; in 16 steps with 3e-3 its tensors move by 1.95 (sum of
norms), by 0 when frozen again. A value head of 65 numbers over a loaded adapter of
2 x 4 tensors: after the look 8 of 8 are trainable, and all of them move.
By hand: `{n for n, p in model.named_parameters() if p.requires_grad}` before and after
`with model.disable_adapter(): pass`.

## What to try
1. Freeze it again after each `disable_adapter` and `set_adapter`:
   `p.requires_grad_(".second." in n)` for all named_parameters. Build the optimizer of
   what is trainable then.
2. `model.base_model.set_adapter(names, inference_mode=...)` sets all of them alike.
3. If both should be trained: load the first with `is_trainable=True`.

## Known problems
Whether one that was unfrozen before the run should learn cannot be decided: neither
`set_adapter` nor leaving `disable_adapter` changes the configuration, and the state of
both is the same to the last flag. So an adapter that was unfrozen by an evaluation
before the run, next to a head, is info: measured on 0.21.2, all attributes of all
modules are then what they are after `p.requires_grad_(True)` by hand.

## References
- huggingface/peft#3447, #3453 (disable_adapter unfreezes what was frozen)
- PEFT, `set_adapter`: "will set the specified adapters to trainable"
"""

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.adapter_states import KEY, needs_states, states_of
from ftlab.rules.reading.needs import needs_gradients
from ftlab.rules.reading.saving import first_facts
from ftlab.rules.reading.tensors import group_of, records_of, text_of
from ftlab.rules.reading.wiring import trainable_tensors
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, in_words

Pushed = dict[str, tuple[list[NameRecord], set[int]]]
"""By adapter its tensors with gradients, and the steps at which they had them.

``""`` are weights outside of adapters.
"""


class FrozenAdapterThawed(Rule):
    """Finds adapters that were loaded frozen and learn beside another one."""

    code = "ADP045"
    status = "stable"
    requires = (needs_states, needs_gradients)

    def check(self, run: Run) -> Results:
        """Yield one finding per adapter that was loaded for use."""
        configs = run.facts.model.get("peft") or {}
        for_use = {n for n, c in configs.items() if c.get("inference_mode") is True}
        made = {n for n, c in configs.items() if c.get("inference_mode") is False}
        pushed = _pushed(run)
        together = [state.active for state in states_of(run).values()]
        frozen = {name for name in configs if _was_frozen(run, name)}
        for first in sorted((for_use | frozen) & set(pushed)):
            seconds = sorted((made - frozen) & set(pushed))
            if not seconds and (found := _beside_others(run, first, pushed)):
                why, steps = found
                if why != "loaded-for-use" or first in for_use:
                    yield self._finding((first, ""), pushed[first][0], steps, why)
            for second in seconds:
                steps = sorted(pushed[first][1] & pushed[second][1])
                why = _why(run, (first, second), steps[0]) if steps else ""
                if why == "loaded-for-use" and first not in for_use:
                    continue
                if steps and any({first, second} <= active for active in together):
                    yield self._finding((first, second), pushed[first][0], steps, why)
                    break

    def _finding(
        self,
        pair: tuple[str, str],
        tensors: list[NameRecord],
        steps: list[int],
        why: str,
    ) -> Finding:
        first, second = pair
        asked = why == "loaded-for-use"
        others = second or "weights outside of adapters"
        again = "requires_grad_(False) of the PeftModel"
        if second:
            again = f"p.requires_grad_('.{second}.' in n) for all named_parameters"
        was = "loaded for inference" if asked else "frozen"
        return self.finding(
            Severity.INFO if asked else Severity.WARNING,
            f"{at_steps(steps[0], steps[-1])}: adapter {first}, which was {was}, "
            f"is trained along with {others}: {counted(len(tensors), 'tensor')}, "
            f"{in_words(name.name for name in tensors)}",
            cause=_CAUSES[why],
            fix=f"Freeze it again after each disable_adapter and set_adapter: {again}; "
            "or load it with is_trainable=True if it should be trained.",
            places={
                "param": [name.name for name in tensors],
                "call": ["disable_adapter", "set_adapter"],
                "config": "inference_mode",
            },
            steps=(steps[0], steps[-1]),
            reason=why,
            evidence={"tensors": len(tensors), "threshold": 0},
            healthy="an adapter that was loaded for inference keeps its values",
        )


_LOOK = "thawed-by-a-look"

_CAUSES = {
    _LOOK: "It was frozen until disable_adapter exited, which makes every active "
    "adapter trainable; the optimizer holds it.",
    "thawed-by-a-switch": "It was frozen until set_adapter made the same adapters "
    "active again, after others had been used: it makes them trainable as well; the "
    "optimizer holds it.",
    "loaded-for-use": "disable_adapter and set_adapter make every active adapter "
    "trainable, even one that was loaded frozen; the optimizer holds it.",
}


def _was_frozen(run: Run, adapter: str) -> bool:
    """Tell whether all its tensors were frozen when the run began."""
    wired = first_facts(run).model.get("adapters") or {}
    before = (wired.get("adapters") or {}).get(adapter) or {}
    return bool(before.get("parts")) and not trainable_tensors(before)


def _why(run: Run, pair: tuple[str, ...], step: int) -> str:
    """Say what thawed the first of ``pair``, which learns from ``step`` on."""
    heard = {entry.op for entry in run.ledger if entry.step <= step}
    if _was_frozen(run, pair[0]):
        if "enable_adapters" in heard and "set_adapter" not in heard:
            return _LOOK
        if "set_adapter" in heard and _went_and_came_back(run, set(pair), step):
            return "thawed-by-a-switch"
    return "loaded-for-use"


def _beside_others(
    run: Run, first: str, pushed: Pushed
) -> tuple[str, list[int]] | None:
    """Say why one learns with weights outside of adapters, and at which steps."""
    _, others = pushed.get("", ([], set()))
    steps = sorted(pushed[first][1] & others)
    if not steps:
        return None
    if not _was_frozen(run, first):
        return "loaded-for-use", steps
    looks = [entry.step for entry in run.ledger if entry.op == "enable_adapters"]
    at_once = bool(looks) and min(looks) <= steps[0] <= min(looks) + 1
    if at_once and min(others) < steps[0] and _why(run, (first,), steps[0]) == _LOOK:
        return _LOOK, steps
    return None


def _went_and_came_back(run: Run, pair: set[str], step: int) -> bool:
    """Tell whether a look at other adapters came after training with both."""
    states, trained = states_of(run), False
    for entry in run.ledger:
        state = states.get(int(entry.detail.get(KEY, -1)))
        if entry.op != "forward" or state is None or entry.step >= step:
            continue
        both = pair <= state.active
        if entry.detail.get("grad_enabled"):
            trained = trained or both
        elif trained and not both:
            return True
    return False


def _pushed(run: Run) -> Pushed:
    """Return what of each adapter is in an optimizer and had gradients but 0.

    What is of none stands under an empty name.
    """
    gradient = run.matrix("grad_l2")
    got = gradient.known & (gradient.values > 0)
    found: Pushed = {}
    for column, name in enumerate(records_of(run, gradient.ids)):
        adapter, rows = text_of(name, "adapter"), np.flatnonzero(got[:, column])
        if group_of(name) >= 0 and len(rows):
            names, steps = found.setdefault(adapter, ([], set()))
            names.append(name)
            steps.update(int(gradient.steps[row]) for row in rows)
    return found
