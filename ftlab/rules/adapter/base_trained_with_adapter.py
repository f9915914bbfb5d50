"""The rule ADP016, base-trained-with-adapter.

## What it does
Finds adapters on weights that are trained themselves, base weights that are trained
because their names contain "lora", and base biases that a configuration makes
trainable.

## Why is this bad?
An adapter is a small change of a fixed weight. If the weight moves as well, memory is
that of full fine-tuning, and save_pretrained writes the adapter only: what the base
learned is lost, and the loaded adapter is on a different base than it was trained on.

## Evidence
`requires_grad` of the weights right under adapters, as read before the run and whenever
it changed; a change counts once a step was made with it. *base-trainable* has the
threshold 0: PEFT freezes every one of them, and a healthy LoRA, DoRA, rsLoRA, PiSSA,
IA3 or AdaLoRA run has none. Norms and embeddings that are trained on purpose are other
weights; what is not saved of them is covered by another rule. `bias="all"` and
`bias="lora_only"` are info: switching the adapter off does not give the base model back
then. It is a warning when the model was run so, without a gradient graph and with all
adapter layers disabled, after the first update. Measured on a tiny OPT under DPO: the
log probability of a completion under such a reference moves by 0.68 in 16 steps, by 0
with `bias="none"`.
*letters* are trained weights of the base that have "lora" within a longer word of their
names, and that are all of the base that is trained. *copy* is a module that
modules_to_save copies although the configuration targets it: it is trained in full; for
a head or an embedding it is info.
By hand: `[n for n, p in model.named_parameters() if "base_layer" in n and
p.requires_grad]`.

## What to try
1. No `model.requires_grad_(True)` and no unfreezing loop after get_peft_model.
2. To train the base as well, train it without adapters.
3. A module goes into target_modules or into modules_to_save, never into both.
4. Unfreeze by `"lora_" in name`, or not at all: get_peft_model has done it.
5. `bias="none"`, unless the biases should be trained: then load with the same
   configuration.

## Known problems
A part called `exploration` that is trained on purpose as the only one besides the
adapter is reported. The few methods that alternate between merging and training the
base are reported.

## References
- huggingface/peft#2738 (trainable modules outside of what is saved)
- PEFT, LoraConfig: `bias` ("even when disabling the adapters, the model will not
  produce the same output as the base model")
"""

import re

from ftlab.rules.reading.adapter_states import KEY, states_of
from ftlab.rules.reading.trained_with import same_adapters, was_trained_with
from ftlab.rules.reading.wiring import (
    Described,
    adapters,
    count_of,
    names_of,
    needs_wiring,
    steps_of,
    wiring,
)
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, in_words

_NUMBERED = re.compile(r"\.\d+\.")
"""A block's number: heads and embeddings have none, and are often kept on purpose."""


class BaseTrainedWithAdapter(Rule):
    """Finds trainable weights under adapters."""

    code = "ADP016"
    status = "stable"
    requires = needs_wiring

    def check(self, run: Run) -> Results:
        """Yield a finding for weights, and one for biases that were asked for."""
        if not was_trained_with(run, same_adapters(run)):
            return
        outside = wiring(run).get("outside") or {}
        if count_of(outside.get("under")):
            yield self._weights(run)
        yield from self._copies(run)
        if lettered := run.facts.model.get("lettered"):
            yield self._letters(run, lettered)
        modes = {str(config.get("bias", "none")) for _, _, config in adapters(run)}
        asked = sorted(modes - {"none"})
        if asked and count_of(outside.get("biases")):
            yield self._biases(run, asked[0])

    def _weights(self, run: Run) -> Finding:
        outside = wiring(run)["outside"]
        under = outside["under"]
        names = names_of(under)
        others = count_of(outside.get("others"))
        more = f", and {counted(others, 'other tensor')} of the base" if others else ""
        elements = sum(int(kind.get("elements", 0)) for kind in outside.values())
        return self.warning(
            f"from step {steps_of(run)[0]}: {counted(count_of(under), 'weight')} under "
            f"adapters are trained as well{more}, {elements:,} parameters in total: "
            f"{in_words(names)}",
            cause="The base was made trainable after get_peft_model had frozen it: "
            "model.requires_grad_(True), an unfreezing loop, or a helper that does "
            "this.",
            fix="Do not change requires_grad after get_peft_model; to train more than "
            "the adapter, use modules_to_save.",
            places={"param": names, "call": "requires_grad_"},
            steps=steps_of(run),
            reason="base-trainable",
            evidence={
                "weights_under_adapters": count_of(under),
                "elements": elements,
                "threshold": 0,
            },
            healthy="every weight under an adapter is frozen",
        )

    def _copies(self, run: Run) -> Results:
        names = _copied_targets(run)
        if not names:
            return
        within = any(_NUMBERED.search(name) for name in names)
        yield self.finding(
            Severity.WARNING if within else Severity.INFO,
            f"from step {steps_of(run)[0]}: {counted(len(names), 'tensor')} of modules "
            f"that should get an adapter are fully trained: {in_words(names)}",
            cause="target_modules and modules_to_save name the same modules: PEFT "
            "copies them and trains the copies, without an adapter.",
            fix="Remove them from modules_to_save to use an adapter, or from "
            "target_modules to train them in full.",
            places={"param": names, "config": ["modules_to_save", "target_modules"]},
            steps=steps_of(run),
            reason="copy",
            evidence={"tensors": len(names), "threshold": 0},
            healthy="a module is either in target_modules or in modules_to_save",
        )

    def _letters(self, run: Run, lettered: Described) -> Finding:
        names = names_of(lettered)
        return self.warning(
            f"from step {steps_of(run)[0]}: {counted(count_of(lettered), 'parameter')} "
            "of the base are trained with the adapter, all those whose names contain "
            f"'lora': {in_words(names)}",
            cause="A loop unfroze every name that contains 'lora', and so does one of "
            "the model's own names.",
            fix="Match 'lora_', or leave requires_grad as get_peft_model and "
            "inject_adapter_in_model set it.",
            places={"param": names, "call": "requires_grad_"},
            steps=steps_of(run),
            reason="letters",
            evidence={"parameters": count_of(lettered), "threshold": 0},
            healthy="no base weight is trained, or only those selected by their full "
            "name",
        )

    def _biases(self, run: Run, mode: str) -> Finding:
        biases = wiring(run)["outside"]["biases"]
        passes = _passes_without(run)
        steps = (passes[0], passes[-1]) if passes else steps_of(run)
        counts = f"bias={mode!r} makes {count_of(biases)} biases of the base trainable"
        return self.finding(
            Severity.WARNING if passes else Severity.INFO,
            f"{at_steps(*steps)}: the model runs without its adapter as a reference, "
            f"but {counts}: it is no longer the base model"
            if passes
            else f"from step {steps[0]}: {counts}; switching the adapter off does not "
            "undo them",
            cause=f"The configuration says bias={mode!r}. disable_adapter does not "
            "undo trained biases, so the reference moves with the model."
            if passes
            else f"The configuration says bias={mode!r}.",
            fix='bias="none", or a second, unmodified base as the reference.'
            if passes
            else 'bias="none", unless the biases should be trained.',
            places={
                "config": "bias",
                "call": ["disable_adapter"] if passes else (),
                "param": names_of(biases),
            },
            steps=steps,
            reason="reference" if passes else "bias",
            evidence={
                "biases": count_of(biases),
                "passes": len(passes),
                "threshold": 0,
            },
            healthy='bias="none": the base model is the same with the adapter off',
        )


def _passes_without(run: Run) -> list[int]:
    """Return the steps after the first at which a pass ran with no adapter at all.

    Before the first update the biases are those of the base.
    """
    states = states_of(run)
    found = []
    for entry in run.ledger:
        state = states.get(int(entry.detail.get(KEY, -1)))
        if entry.op != "forward" or entry.detail.get("grad_enabled") or state is None:
            continue
        if entry.step > 0 and state.layers and len(state.disabled) == state.layers:
            found.append(entry.step)
    return found


def _copied_targets(run: Run) -> list[str]:
    """Name what learns in modules that were named as targets and to be saved."""
    found = []
    for adapter, _, config in adapters(run):
        wanted = config.get("target_modules")
        targets = set() if isinstance(wanted, str) else set(wanted or ())
        both = targets & set(config.get("modules_to_save") or ())
        ends = tuple(f".{entry}.modules_to_save.{adapter}." for entry in both)
        found += [
            each.name
            for each in run.names().values()
            if each.trainable and any(end in f".{each.name}" for end in ends)
        ]
    return found
