"""The rule ADP025, adapter-scaling-changed.

## What it does
Finds adapters whose delta is multiplied by a different factor than in training.

## Why is this bad?
The tensors are the right ones and the model computes W + c scaling B A: too weak or too
strong by c. With `use_rslora` the factor is alpha / sqrt(r), without it alpha / r;
where the flag is lost, an adapter of rank 16 acts with a quarter of its strength.

## Evidence
`scaling` of each LoRA layer, before the first step, against what the settings in
`adapter_config.json` give, or against the factors recorded when the adapter was trained
(`ftlab.preflight(model, adapter=folder, trained_in=run_folder)`). Reported from a
relative difference of 0.1 % on; factors come from small integers and agree to 1e-7.
`load_adapter` into an existing adapter takes the file's weights but keeps the adapter's
settings: the same comparison is made right after each such load in a run. Measured with
peft 0.21.2: an adapter saved with alpha 64 and loaded into one with 4 acts with 0.5
instead of 8.
By hand: `{m.scaling["default"] for m in model.modules() if hasattr(m, "scaling")}`
against lora_alpha and r in `adapter_config.json`.

## What to try
1. `PeftModel.from_pretrained(base, folder)`: the configuration is saved with the
   adapter.
2. Where a configuration is written by hand: the same r, lora_alpha, use_rslora,
   rank_pattern and alpha_pattern.
3. `model.delete_adapter(name)` before `load_adapter(folder, name)`: a new adapter takes
   the file's settings.
4. For a server that does not know rsLoRA: save alpha as alpha sqrt(r).

## Known problems
Scaling an adapter on purpose (`set_scale`, weighted adapters) before watching is
reported too. With rank_pattern or alpha_pattern only the training run can be compared.

## References
- NVIDIA/TensorRT-LLM#1668, vllm-project/vllm#6909, predibase/lorax#299
- huggingface/diffusers#6087 (alpha is lost), turboderp-org/exllamav2#619
- rsLoRA: arXiv 2312.03732
"""

from collections.abc import Mapping
from typing import Any

from ftlab.rules.reading.base_samples import bare_name
from ftlab.rules.reading.loads import settings_loads
from ftlab.rules.reading.saving import (
    adapter_file,
    has_adapters,
    needs_model,
    span,
    start,
)
from ftlab.rules.rule import Finding, Results, Rule, Run
from ftlab.rules.words import counted, in_words, number

DIFFERENT = 1e-3
"""Relative difference of two factors from which on they are not the same."""

_FIELDS = ("use_rslora", "lora_alpha", "r", "rank_pattern", "alpha_pattern")

Factors = dict[str, tuple[float, float]]
"""By module: the factor that was trained with, and the one now."""


class AdapterScalingChanged(Rule):
    """Finds factors that an adapter was not trained with."""

    code = "ADP025"
    status = "stable"
    requires = needs_model

    def applies(self, run: Run) -> bool:
        """Tell whether there are adapters, and something to compare them with."""
        known = bool(start(run).get("trained_as")) or bool(adapter_file(run))
        known = known or bool(settings_loads(run))
        return not run.facts.model or (has_adapters(run) and known)

    def check(self, run: Run) -> Results:
        """Yield one finding for all modules."""
        facts, file = start(run), adapter_file(run)
        trained = facts.get("trained_as") or {}
        factors, settings = _against_run(trained, run), _settings(trained, run)
        if not factors:
            rows = file.get("scaling") or {}
            factors = {module: (row[0], row[1]) for module, row in rows.items()}
            settings = dict(file.get("config") or {})
        if factors:
            yield self._finding(run, factors, settings)
            return
        for entry in settings_loads(run)[:1]:
            rows = entry.detail["scaling"]
            read = {module: (row[0], row[1]) for module, row in rows.items()}
            yield self._finding(run, read, {}, entry.step)

    def _finding(
        self,
        run: Run,
        factors: Factors,
        settings: Mapping[str, Any],
        step: int | None = None,
    ) -> Finding:
        (due, now), modules = next(iter(factors.values())), list(factors)
        changed = [name for name in _FIELDS if name in settings]
        told = ", ".join(
            f"{name} {settings[name][0]!r} became {settings[name][1]!r}"
            for name in changed
        )
        return self.warning(
            f"{'before step 0' if step is None else f'step {step}'}: the scaling of "
            f"{counted(len(modules), 'LoRA layer')} is {number(now)}, but was "
            f"{number(due)} in training{f' ({told})' if told else ''}: "
            f"{in_words(modules)}",
            cause="The adapter was loaded with different settings than it was trained "
            f"with{f': {told}' if told else ''}; its delta is "
            f"{number(now / due if due else 0.0)} times as strong.",
            fix="PeftModel.from_pretrained(base, folder) takes the settings from the "
            "file; in a configuration of your own, repeat r, lora_alpha and "
            "use_rslora.",
            places={"config": [*changed, "scaling"], "module": modules},
            steps=span(run, step or 0),
            evidence={
                "trained": due,
                "now": now,
                "modules": len(modules),
                "threshold": DIFFERENT,
            },
            healthy="scaling is the same as in training",
        )


def _against_run(trained: Mapping[str, Any], run: Run) -> Factors:
    """Return modules whose factor differs from that of the training run."""
    now = start(run).get("adapters") or {}
    before = trained.get("adapters") or {}
    found = {}
    for name, row in now.items():
        others: Mapping[str, Any] = before.get(name) or next(iter(before.values()), {})
        known = {bare_name(m): each for m, each in others.get("scaling", {}).items()}
        for module, factor in row["scaling"].items():
            due = known.get(bare_name(module))
            if due is not None and abs(factor - due) > DIFFERENT * abs(due):
                found[module] = (float(due), float(factor))
    return found


def _settings(trained: Mapping[str, Any], run: Run) -> dict[str, list[Any]]:
    """Return settings that differ from those of the training run."""
    before: Mapping[str, Any] = next(iter((trained.get("peft") or {}).values()), {})
    now: Mapping[str, Any] = next(
        iter((run.facts.model.get("peft") or {}).values()), {}
    )
    return {
        name: [before.get(name), now.get(name)]
        for name in _FIELDS
        if before.get(name) != now.get(name)
    }
