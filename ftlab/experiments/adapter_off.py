"""EXP013, adapter-off: without its adapter the model is its base.

## What must hold
With the adapter switched off, the model gives what its base on disk gives; a fresh
adapter changes nothing, on or off.

## Why
A base of another revision, base weights that were trained or quantised in another way,
or an adapter that does not start at zero makes the run start from another model than
you believe.

## When it does not apply
Models without an adapter; a trained adapter on a base whose folder is not here.

## What to try
Load the base that ``adapter_config.json`` names, and freeze it.

## References
- peft, `PeftModel.disable_adapter`
"""

from dataclasses import replace
from typing import Any

from ftlab.executions.pairs import Pair, adapter, evaluating
from ftlab.executions.side import NotApplicableError
from ftlab.executions.stations import base_folder, base_from_folder
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.outcome import Outcome


class AdapterOff(Experiment):
    """The adapter off, and the base; or a fresh adapter on and off."""

    code = "EXP013"
    name = "adapter-off"
    relation = "without its adapter the model is its base; a fresh one changes nothing"
    cause = "The base is not the one on disk, or the adapter does not start at nothing."
    fix = "Load the base that adapter_config.json names, and freeze it."

    def run(self, live: Live) -> Outcome:
        """Compare with the base's folder, or a fresh adapter with nothing."""
        model = live.model
        if not hasattr(model, "disable_adapter"):
            msg = f"{type(model).__name__} is no PeftModel"
            raise NotApplicableError(msg)
        folder = base_folder(model)
        if folder is not None:
            base = base_from_folder(model, folder)

            def off() -> Any:
                return evaluating(model, model.disable_adapter())

            a = live.side(model=base, settings=lambda: evaluating(base))
            b = live.side(settings=off)
            names = ("the base on disk", "the adapter off")
            return self.compared(Pair(a, b, names, None, backward=False))
        if not _is_fresh(model):
            msg = "the adapter is trained, and the folder of its base is not here"
            raise NotApplicableError(msg)
        # a magnitude is computed of the weights, and rounded
        pair = live.of(adapter(model, live.batch))
        return self.compared(replace(pair, backward=False, rewritten=True))


def _is_fresh(model: Any) -> bool:
    """Say whether all second factors are 0, as they are before training."""
    second = [p for name, p in model.named_parameters() if ".lora_B." in name]
    return bool(second) and not any(bool(p.any()) for p in second)
