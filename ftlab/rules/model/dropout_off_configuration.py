"""The rule MOD017, dropout-off-configuration.

## What it does
Finds adapters whose layers have no dropout although their configuration has one now,
and vice versa.

## Why is this bad?
A layer gets its dropout when it is created and never reads the configuration again: a
value that is set afterwards changes nothing. The run uses the old value, logs and files
show the new one, and two runs that are compared over it are the same.

## Evidence
The settings of the configuration that end in `dropout`, against the dropout modules in
the layers of adapters that are trained. There is no threshold.
- *never-made*: the configuration has a value above 0, and all layers hold an Identity,
  which PEFT makes for 0 alone.
- *still-made*: the configuration says 0, and all layers hold a dropout above 0.
- *other-value* (info): both are above 0 and differ in all layers, as after a custom
  schedule.

A dropout that is set to 0 through its `p`, as `disable_dropout` of TRL does, is not
reported. It is info where another adapter has the very same configuration object.
Measured on peft 0.21.2: after `model.peft_config["default"].lora_dropout = 0.3` on an
adapter that was created with 0, 4 of 4 layers hold an Identity, two forwards of one
batch in training mode are equal to the last bit, and the saved file says 0.3.
By hand: `{n: m.lora_dropout for n, m in model.named_modules() if hasattr(m,
"lora_dropout")}`.

## What to try
1. Set the value in the LoraConfig before `get_peft_model`.
2. To change an existing one: `for m in model.modules(): if isinstance(m,
   torch.nn.Dropout): m.p = 0.1`, and the configuration with it.
3. For a new adapter create a new configuration; do not change one that is in use.

## Known problems
A configuration that is changed during training is seen when the facts are read again.
Removing the dropouts from the layers by hand, without changing the configuration, is
reported.

## References
- PEFT, `LoraLayer.update_layer`: a Dropout above 0, else an Identity
- trl `trainer/utils.py`, `disable_dropout_in_model` (sets p to 0)
"""

from collections.abc import Mapping
from typing import Any

from ftlab.rules.reading.wiring import (
    adapters,
    is_trained,
    needs_wiring,
    steps_of,
    trainable_tensors,
)
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import counted, number

NONE = "none"
"""What the probe says of a layer without a dropout."""


class DropoutOffConfiguration(Rule):
    """Finds adapters that do not drop what their configuration says."""

    code = "MOD017"
    requires = needs_wiring

    def check(self, run: Run) -> Results:
        """Yield one finding per setting of an adapter."""
        for adapter, described, _ in adapters(run):
            if not trainable_tensors(described) or not is_trained(run):
                continue
            for setting, one in (described.get("dropouts") or {}).items():
                if kind := _kind(one):
                    yield self._finding(run, (adapter, setting), one, kind)

    def _finding(
        self, run: Run, place: tuple[str, str], one: Mapping[str, Any], kind: str
    ) -> Finding:
        (adapter, setting), asked = place, float(one["asked"])
        layers, used = sum(one["used"].values()), _chances(one)
        has = f"with {number(max(used))}" if used else "not"
        sure = kind != "other-value" and not one.get("shared")
        return self.finding(
            Severity.WARNING if sure else Severity.INFO,
            f"from step {steps_of(run)[0]}: {setting} of adapter {adapter} is "
            f"{number(asked)} in its configuration, but its {counted(layers, 'layer')} "
            f"drop {has}" + (" at all" if not used else ""),
            cause="The configuration was changed after the adapter was created. A "
            "layer reads its dropout only once, when it is created.",
            fix=f"Set {setting} in the configuration before get_peft_model; or set p "
            "of the dropouts in the layers.",
            places={"config": setting, "object": f"adapter {adapter}"},
            steps=steps_of(run),
            reason=kind,
            evidence={"asked": asked, "used": max(used, default=0.0), "layers": layers},
            healthy="the layers use the configured dropout",
        )


def _chances(one: Mapping[str, Any]) -> list[float]:
    return [float(each) for each in one["used"] if each != NONE]


def _kind(one: Mapping[str, Any]) -> str:
    """Tell how the layers differ from the configuration, if all of them do."""
    asked, used = float(one["asked"]), _chances(one)
    if asked > 0 and not used:
        return "never-made"
    if NONE in one["used"] or not used or 0.0 in used or asked in used:
        return ""
    return "other-value" if asked > 0 else "still-made"
