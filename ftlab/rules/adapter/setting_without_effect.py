"""The rule ADP040, setting-without-effect.

## What it does
Finds settings of a PEFT configuration that have no effect: settings of an
initialisation that is not selected, LoRA fields that AdaLoRA never reads, variants that
no layer has, biases where there are none, tokens that are listed twice, and ranks above
what a weight can have.

## Why is this bad?
The configuration says one thing, but the run does another. Two runs that are compared
over such a setting are the same run; the paper's method was not used; and the saved
configuration stays wrong.

## Evidence
Each setting against the layers that were made; there is no threshold but 0 effect.
- *other-start*: eva_config, corda_config or lora_ga_config is there and
  `init_lora_weights` is another value. PEFT warns of the first two alone.
- *other-method*: `r`, use_rslora, alpha_pattern, lora_bias, or a start by name, in an
  AdaLoraConfig. Measured: `r=64`, use_rslora, an alpha_pattern, lora_bias, "pissa",
  "gaussian" and "eva" each give the same shapes, the same scaling and the same first
  values as without. The rank is init_r (12 by default), the scaling is lora_alpha.
- *no-variant*: use_qalora (made for GPTQ alone) or a variant, and not one layer of the
  adapter computes it. Measured: `use_qalora=True` on nn.Linear is plain LoRA.
- *repeated*: a token twice in trainable_token_indices. Each gets a row of its own, and
  only one of them is used. Unknown tokens share one id: nothing was added to the
  tokenizer, or the list was made before.
- *no-bias* (info): `bias="lora_only"` and no adapted layer has a bias; `bias="all"` and
  nothing in the model has.
- *above-size* (info): the rank of every adapted layer is above the smaller side of its
  weight, so that its factors hold more than the weight itself.
By hand: `model.peft_config["default"]` against `layer.scaling`, `layer.r`,
`layer.lora_variant` of an adapted layer.

## What to try
1. EVA, CorDA, LoRA-GA: set `init_lora_weights` too, and make the required call.
2. AdaLoRA: `init_r` and `target_r` for the rank; no setting of LoRA's start.
3. Tokens: `tokenizer.add_tokens(...)` first, then `convert_tokens_to_ids`, and check
   the ids.
4. Remove what the model cannot use.

## Known problems
Settings without effect in only some of the layers are not reported. A configuration for
several models is info where it requests biases that one does not have.

## Known myths
"fan_in_fan_out must be right": measured on 0.21.2, LoRA, VeRA, IA3, FourierFT and
RandLoRA correct it for nn.Linear and Conv1D, with a warning; the results are the same.

## References
- PEFT, LoraConfig: eva_config, corda_config, lora_ga_config, use_qalora, bias
- PEFT, AdaLoraLayer.update_layer (what it reads)
- huggingface/peft#1971, #1981 (r in AdaLoRA)
"""

from collections.abc import Mapping
from typing import Any

from ftlab.rules.reading.wiring import adapters, needs_wiring, steps_of
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity

_WHY = {
    "other-start": (
        "init_lora_weights is {used}: only {start!r} reads {field}.",
        "Set init_lora_weights={start!r}, and make the required call; or remove "
        "{field}.",
    ),
    "other-method": (
        "AdaLoRA's layers do not read {field}; they use {used}.",
        "Use init_r and target_r for the rank, lora_alpha for the scaling; remove "
        "{field}.",
    ),
    "no-variant": (
        "No layer implements {field}: the layers are {used}.",
        "Remove {field}, or use a base (or method) that supports it.",
    ),
    "repeated": (
        "The tokens {used} are listed more than once; unknown tokens all get the same "
        "id.",
        "Add the tokens to the tokenizer first, then list each id once.",
    ),
    "no-bias": ("There is no bias to train.", 'bias="none".'),
    "above-size": (
        "The smaller side of the largest adapted weight is {used}: the product of the "
        "factors cannot have a higher rank.",
        "Choose a rank below that of the weights.",
    ),
}
"""By reason: the cause and the fix."""

_NOTED = frozenset({"no-bias", "above-size"})
"""Reasons that cost nothing but the wrong belief."""

_STARTS = {"eva_config": "eva", "corda_config": "corda", "lora_ga_config": "lora_ga"}


class SettingWithoutEffect(Rule):
    """Finds settings that the adapter does not use."""

    code = "ADP040"
    requires = needs_wiring

    def check(self, run: Run) -> Results:
        """Yield one finding per setting."""
        for adapter, described, _ in adapters(run):
            for field, facts in (described.get("idle") or {}).items():
                yield self._finding(run, adapter, field, facts)

    def _finding(
        self, run: Run, adapter: str, field: str, facts: Mapping[str, Any]
    ) -> Finding:
        reason, value = str(facts["why"]), str(facts["value"])
        cause, fix = _WHY[reason]
        words = {"field": field, "used": facts["used"], "start": _STARTS.get(field, "")}
        return self.finding(
            Severity.INFO if reason in _NOTED else Severity.WARNING,
            f"from step {steps_of(run)[0]}: {field} of adapter {adapter} has no "
            f"effect: {value[:80]}",
            cause=cause.format(**words),
            fix=fix.format(**words),
            places={"config": field},
            steps=steps_of(run),
            reason=reason,
            evidence={"value": value[:80], "threshold": 0},
            healthy="every setting is used by the layers",
        )
