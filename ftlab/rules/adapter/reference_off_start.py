"""The rule ADP031, reference-off-start.

## What it does
Finds references in preference training that are not the initial policy: they are the
policy itself, the base model under a previously trained adapter, or a base that the
adapter's initialisation has changed.

## Why is this bad?
DPO, KTO and a KL term keep the policy near a fixed model. Where the reference is the
policy, every log-ratio and every reward is always 0: the loss stays at log 2, the KL at
0, and nothing constrains the model. Where it is the base model under an adapter from
supervised training, the first step starts far away from it, and part of what was
learned there is unlearned. PiSSA, OLoRA, CorDA, LoftQ and LoRA-GA move a part of the
base into the adapter: with it off, or a different one active, only the residual runs,
and an ordinary adapter put on it starts from a broken model.

## Evidence
On the first steps and now and then, some elements of the last module's output are kept
of each pass and compared bit for bit with those of the training pass; passes whose
adapters are in another state are never taken for the same.
- *copy*: a shallow copy of the model is run beside it, and gives what it gives.
- *base*: so does the model that a PeftModel was put around, called by itself: its
  layers were changed in place, and hold the adapter.
- *same-object*: the model itself is run twice, and the loss is log 2 (the logistic loss
  of a margin of 0) within 1e-5, or a sum of a few such, at 4 steps and more and at
  every one, while its outputs move.
Each needs 2 measured steps after the first one, and half of those measured; in 16 bits
and without PEFT's layers equal outputs are no proof of equal weights, and a model that
is run twice is not judged. Measured on a tiny GPT-2, 16 steps of DPO at 1e-3: 0.693147
at all steps with `copy.copy(model)`, 0.662 to 0.721 with `copy.deepcopy(model)`.
- *base-under-adapter*: in half of the steps the model runs without a graph and with all
  of its adapter layers off, while the adapter that is trained held values other than 0
  before the first step, and no optimizer held a state. It is only info: staying near
  the base is a valid choice too. Measured on a tiny Llama after 30 steps of supervised
  training: the first DPO loss is 0.598, with a copy of the adapter 0.693.
- *residual*: a forward without a graph runs with such an adapter's layers disabled, or
  the adapter inactive. Read of `init_lora_weights` and of the layers at each forward;
  there is no threshold. Without such a pass it is info (*changed*): training and saving
  are fine. Measured (PiSSA, rank 8, a random model): with the adapter on the logits
  differ from those of the base by 2e-7, with it off by 0.5; with the default
  initialisation by 0 both times.
By hand: `(model(**batch).logits - reference(**batch).logits).abs().max()` is 0 before
the first step, and must not be 0 later.

## What to try
1. `reference = copy.deepcopy(model).eval()`, before the first step, under no_grad.
2. With a fresh adapter: `with torch.no_grad(), model.disable_adapter():`.
3. With a previously trained adapter: load it a second time under another name, frozen,
   and `set_adapter` for the reference pass and back; TRL's DPOTrainer does so.

## Known problems
Dropout makes the two passes differ, so that nothing is seen. Where the loss is another
one than DPO's, or has other terms, a model that is its own reference cannot be told
from policy gradients with one update per batch: old log-probabilities are the same pass
twice, and right, and where all rewards are alike their loss is constant too. A
reference adapter that is trained along with the policy looks like two adapters that
learn from each other, unless one knows by its name what it is for; it is not reported.
Nor is a second trained model, or a copy of something else: it is not watched. Running a
model on its residual for any other purpose counts as a reference too.

## References
- huggingface/trl#2046, #5534 (one object as policy and reference)
- huggingface/trl#1311, #1627 (a loss that stays at 0.693 and rewards at 0)
- huggingface/trl#4723, #1193, #6591 (an adapter that was trained before: the base is
  the wrong reference)
- huggingface/transformers#34468, huggingface/peft#1626, #1929, #2270 (residuals)
"""

from ftlab.rules.reading.adapter_states import KEY, State, states_of
from ftlab.rules.reading.saving import PLAIN, first_facts, start
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.reasons.repeated_passes import (
    KINDS,
    Repeated,
    loss_of_no_margin,
    most,
    repeated_passes,
    switched_off,
)
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity, needs_facts
from ftlab.rules.words import at_steps, counted, in_words

RESIDUAL = ("pissa", "olora", "corda", "loftq")
"""Initialisations that take out of the base what they put into the adapter."""

_RUN = {
    "copy": "a shallow copy of the model",
    "base": "the model inside the PeftModel, called directly,",
    "same-object": "the model itself, a second time,",
}

_CAUSE = {
    "copy": "copy.copy(model) makes a second module with the same submodules: both "
    "share the same weights, which the optimizer updates.",
    "base": "get_peft_model replaces layers of the given model in place: calling it as "
    "the base model runs the adapter too.",
    "same-object": "The reference is the policy: the same object, or the model with "
    "its adapter still active. Every margin is 0, so the loss is constant.",
}

_FIX = {
    "copy": "reference = copy.deepcopy(model).eval(), before the first step.",
    "base": "Run the reference in `with torch.no_grad(), model.disable_adapter():`, or "
    "make a copy.deepcopy(base) before get_peft_model.",
    "same-object": "Run the reference in `with torch.no_grad(), "
    "model.disable_adapter():`, or on a copy.deepcopy(model) made before training.",
}


class ReferenceOffStart(Rule):
    """Finds references that move with the policy, or that it did not begin as."""

    code = "ADP031"
    status = "stable"
    requires = needs_facts(
        "model", "facts of the model", "ftlab.watch(model, optimizer)"
    )

    def applies(self, run: Run) -> bool:
        """Tell whether passes stand beside the training's, or a base was changed."""
        if _residual(run) or not run.facts.model:
            return True
        columns = [c for c in KINDS if c in run.steps.columns]
        beside = any((run.steps[column] > 0).any() for column in columns)
        return not len(run.steps) or beside or bool(switched_off(run))

    def check(self, run: Run) -> Results:
        """Yield one finding per changed base, and one for the reference."""
        for adapter, method in _residual(run).items():
            if weights := _weights(run, adapter):
                yield self._off_base(run, adapter, method, weights)
        if "policy_passes" in run.steps.columns:
            yield from self._passes(run)
        elif switched_off(run):
            yield self.cannot_tell(
                "the run does not contain outputs of the passes of a step",
                "ftlab.watch(...) with its standard probes",
            )

    def _passes(self, run: Run) -> Results:
        loss = loss_of_no_margin(run)
        for found in repeated_passes(run):
            if found.reason != "same-object" or loss is not None:
                yield self._repeated(found, loss)
                return
        adapters, steps = _taught(run), switched_off(run)
        if adapters and most(steps, run):
            yield self._base(adapters, steps)

    def _repeated(self, found: Repeated, loss: float | None) -> Finding:
        first, last = found.steps[0], found.steps[-1]
        seen = ""
        if loss is not None:
            seen = f"; the loss is {loss:.6g} at every step: that of a margin of 0"
        return self.finding(
            Severity.WARNING if loss is None else Severity.ERROR,
            f"{at_steps(first, last)}: {_RUN[found.reason]} gives bit for bit the same "
            f"output as the training pass, in {len(found.steps)} of "
            f"{counted(found.measured, 'measured step')}{seen}",
            cause=_CAUSE[found.reason],
            fix=_FIX[found.reason],
            places={
                "object": "reference",
                "call": [
                    *(["copy.copy"] if found.reason == "copy" else ()),
                    "disable_adapter",
                ],
            },
            steps=(first, last),
            reason=found.reason,
            evidence={
                "steps": len(found.steps),
                "measured": found.measured,
                **({} if loss is None else {"loss": loss}),
            },
            healthy="after the first update the reference's output differs from the "
            "policy's",
        )

    def _base(self, adapters: list[str], steps: list[int]) -> Finding:
        names = ", ".join(adapters)
        return self.note(
            f"{at_steps(steps[0], steps[-1])}: passes without a graph run the base "
            f"model, all adapters off, but the trained adapter {names} was not 0 when "
            "training began",
            cause="If these passes are the reference, it is not the initial policy, "
            "which is the base model with the loaded adapter.",
            fix="Load the adapter a second time under another name, frozen, and "
            "set_adapter to it for the reference pass; or leave it, if the policy "
            "should stay near the base.",
            places={
                "object": ["reference", *(f"adapter {name}" for name in adapters)],
                "call": "disable_adapter",
            },
            steps=(steps[0], steps[-1]),
            reason="base-under-adapter",
            evidence={"steps": len(steps)},
            healthy="before the first step policy and reference agree",
        )

    def _off_base(
        self, run: Run, adapter: str, method: str, weights: list[str]
    ) -> Finding:
        steps = _references(run, adapter)
        first, last = (steps[0], steps[-1]) if steps else (0, max(run.last_step, 0))
        seen = (
            f"{at_steps(first, last)}: a reference pass ran without adapter {adapter}, "
            f"on base weights that {method} has changed"
            if steps
            else f"step {first}: {method} has changed the base weights under adapter "
            f"{adapter}; without it the model is not the base model"
        )
        return self.finding(
            Severity.WARNING if steps else Severity.INFO,
            f"{seen}: {in_words(weights)}",
            cause=f"init_lora_weights={method!r} moves a part of each weight into the "
            "adapter: base and adapter together are the original model, the base alone "
            "is not.",
            fix="Use an unmodified copy of the base as the reference, or the default "
            "init_lora_weights.",
            places={
                "param": weights,
                "config": "init_lora_weights",
                "call": ["disable_adapter"] if steps else (),
            },
            steps=(first, last),
            reason="residual" if steps else "changed",
            evidence={"init_lora_weights": method, "reference_passes": len(steps)},
            healthy="with the adapter off the model is the base model",
        )


def _taught(run: Run) -> list[str]:
    """Name adapters that are trained, and were before; none where a run resumes."""
    facts = start(run)
    if first_facts(run).step > 0 or any(facts.get("optimizer_states") or ()):
        return []
    return [
        str(name)
        for name, row in (facts.get("adapters") or {}).items()
        if row.get("trainable")
        and row["init"] in PLAIN
        and row["zero_b"] < row["pairs"]
    ]


def _residual(run: Run) -> dict[str, str]:
    """Return the adapters with such an initialisation, and which."""
    found = {}
    for adapter, config in (run.facts.model.get("peft") or {}).items():
        method = config.get("init_lora_weights") if isinstance(config, dict) else None
        if isinstance(method, str) and _takes_out(run, str(adapter), method.lower()):
            found[str(adapter)] = method
    return found


def _takes_out(run: Run, adapter: str, method: str) -> bool:
    if method != "lora_ga":
        return method.startswith(RESIDUAL)
    # Without the gradients that it needs it begins as LoRA does, and changes nothing.
    start = (run.facts.model.get("start") or {}).get("adapters") or {}
    return not start.get(adapter, {}).get("zero_b", 1)


def _references(run: Run, adapter: str) -> list[int]:
    states = states_of(run)
    return [
        entry.step
        for entry in run.ledger
        if entry.op == "forward"
        and not entry.detail.get("grad_enabled")
        and _is_without(states.get(int(entry.detail.get(KEY, -1))), adapter)
    ]


def _is_without(state: State | None, adapter: str) -> bool:
    if state is None or not state.layers:
        return False
    return len(state.disabled) == state.layers or adapter not in state.active


def _weights(run: Run, adapter: str) -> list[str]:
    return [
        f"{text_of(name, 'module')}.base_layer.weight"
        for name in run.names("adapters").values()
        if text_of(name, "adapter") == adapter
    ]
