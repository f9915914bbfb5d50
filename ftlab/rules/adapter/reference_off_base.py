"""The rule ADP031, reference-off-base.

## What it does
Finds adapters whose initialisation changed the base weights, and forward passes that
use the model without that adapter as the base model.

## Why is this bad?
PiSSA, OLoRA, CorDA, LoftQ and LoRA-GA move a part of the base into the adapter:
together they are the original model. With the adapter off, or a different one active,
only the residual runs. As a reference for DPO or a KL term it is wrong from the first
step on; an ordinary adapter put on it starts from a broken model.

## Evidence
`init_lora_weights` of every adapter, and the state of the layers at each forward; there
is no threshold. A forward without a gradient graph, with the adapter's layers disabled
or the adapter inactive, is taken for a reference: a warning. Without such a pass it is
only info: training and saving are fine.
Measured (PiSSA, rank 8, a random model): with the adapter on the logits differ from
those of the base by 2e-7, with it off by 0.5; with the default one by 0 both times.
By hand: compare logits under `with model.disable_adapter():` with a fresh base's.

## What to try
1. Load a second, unmodified base for the reference pass.
2. Convert on saving: `save_pretrained(path,
   path_initial_model_for_weight_conversion=...)`.
3. Use the default initialisation where switching the adapter off makes a reference.

## Known problems
Running the model with the adapter off for any other purpose counts as a reference too.

## References
- huggingface/transformers#34468
- huggingface/peft#1626, #1929, #2270
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.adapter_states import KEY, State, states_of
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.rule import Rule, needs_facts
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

RESIDUAL = ("pissa", "olora", "corda", "loftq")
"""Initialisations that take out of the base what they put into the adapter."""


class ReferenceOffBase(Rule):
    """Finds references that are taken of a base that an adapter has changed."""

    code = "ADP031"
    name = "reference-off-base"
    since = "0.1.0"
    status = "stable"
    requires = (
        needs_facts("model", "facts of the model", "ftlab.watch(model, optimizer)"),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether an adapter has changed the base, or nothing is known yet."""
        return bool(_residual(run)) or not run.facts.model

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding per adapter."""
        for adapter, method in _residual(run).items():
            weights = _weights(run, adapter)
            if weights:
                yield self._finding(run, adapter, method, weights)

    def _finding(
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
            places=[
                *(Place("param", name) for name in weights),
                Place("config", "init_lora_weights"),
                *([Place("call", "disable_adapter")] if steps else []),
            ],
            steps=(first, last),
            evidence={
                "reason": "reference" if steps else "changed",
                "init_lora_weights": method,
                "reference_passes": len(steps),
            },
            healthy="with the adapter off the model is the base model",
        )


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
