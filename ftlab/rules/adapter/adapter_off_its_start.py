"""The rule ADP056, adapter-off-its-start.

## What it does
Finds loaded adapters whose frozen part differs from the one they were trained with:
random projections from a different key, or a base from which a computed start (PiSSA,
OLoRA) was not subtracted.

## Why is this bad?
The file holds what was trained, and each key of it is found. With
`save_projection=False` VeRA's matrices are regenerated from `projection_prng_key`: a
different key gives different ones, and the trained vectors mean nothing. PiSSA moves a
part of each weight into the adapter: on a base that still has it, it counts twice.

## Evidence
`adapter_config.json` of the folder against the configuration of the adapter in the
model, before the first step and at each `load_adapter` of the run, where the adapter
has the values of the file. The threshold is 0.
- *drawn*: another key or seed of a part that the file does not hold. Measured with peft
  0.21.2 on a tiny Llama, largest change of the logits against that by the adapter
  itself: VeRA 0.085 of 0.072, PVeRA 0.045 of 0.033, RandLoRA 0.98 of 1.00, TinyLoRA
  0.38 of 0.40, FRoD 0.061 of 0.091, UniLoRA 0.096 of 0.087, FourierFT 0.81 of 0.83,
  WaveFT 0.99 of 0.79; SHiRA and PSOFT 0: their files have it.
- *residual*: the file began with a start that changes the base, the adapter in the
  model did not, and the base weights hold the adapter's delta: the slope of ADP023,
  certain to 0.1, is above 0.15 in 80 % of at least 2 modules. Measured (30 steps): 0.44
  to 0.63 for PiSSA and 0.22 to 0.29 for OLoRA on the whole base; 0.00 and -0.30 to
  -0.22 on the base that it was trained on. Only before the first step.
By hand: `json.load(open(folder + "/adapter_config.json"))` against
`model.peft_config[name]`.

## What to try
1. `PeftModel.from_pretrained(base, folder)`: it follows the file.
2. *drawn*: the key of the file in your configuration, or `save_projection=True` when it
   is saved.
3. *residual*: save with `path_initial_model_for_weight_conversion`, which makes a plain
   LoRA for the untouched base.

## Known problems
A generator may give different numbers on a different device or version: that is not
seen. `pissa_niter_4` draws at each start, so that even from_pretrained computes another
base: 0.19 in the logits of the tiny Llama above, of random weights. Quantised bases and
DoRA are not measured.

## References
- peft `tuners/vera/config.py`: what `save_projection=False` asks for
- huggingface/peft#1929, #1626 (PiSSA's base is not the one that was loaded)
"""

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.records.finding import Finding, Place, Severity
from ftlab.rules.reading.base_weights import NEAR, SHARE, SHARP
from ftlab.rules.reading.saving import (
    adapter_file,
    has_adapters,
    needs_model,
    span,
    start,
)
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run

_COMPUTED = "init_lora_weights"

LEAST = 2
"""Modules that must count: one may lie anywhere by chance."""


class AdapterOffItsStart(Rule):
    """Finds adapters without the frozen part that they were trained with."""

    code = "ADP056"
    name = "adapter-off-its-start"
    since = "0.1.0"
    status = "preview"
    requires = (needs_model,)

    def applies(self, run: Run) -> bool:
        """Tell whether there are adapters."""
        return has_adapters(run)

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding for the adapter's folder, and one for each later load."""
        file = adapter_file(run)
        loaded = file.get("keys") and not file.get("different")
        for name, (saved, live) in (file.get("start") or {}).items() if loaded else ():
            adapter, folder = str(file["adapter"]), str(file["folder"])
            values = name, saved, live
            if name != _COMPUTED:
                words = _words(f"before step 0: {folder}", values)
                yield self._drawn(words, name, span(run))
            elif held := _held_by_base(run, adapter):
                yield self._residual(_words(f"before step 0: {folder}", values), held)
        for entry in run.ledger:
            off = entry.detail.get("start") if entry.op == "load" else None
            for name, (saved, live) in (off or {}).items():
                if name != _COMPUTED:
                    where = f"step {entry.step}: {entry.detail['folder']}"
                    words = _words(where, (name, saved, live))
                    yield self._drawn(words, name, (entry.step, entry.step))

    def _drawn(self, words: str, name: str, steps: tuple[int, int]) -> Finding:
        return self.finding(
            Severity.ERROR,
            f"{words}: the frozen part of the adapter is generated from it, and the "
            "file does not contain that part",
            cause="The adapter was created from a custom configuration, and the file's "
            "values, trained with a different frozen part, were loaded into it.",
            fix="PeftModel.from_pretrained(base, folder), or the file's value of "
            f"{name} in the configuration.",
            places=[Place("config", name), Place("file", "adapter keys")],
            steps=steps,
            evidence={"reason": "drawn", "threshold": 0},
            healthy="the part is generated from the same key, or is in the file",
        )

    def _residual(self, words: str, held: Mapping[str, float]) -> Finding:
        slope = statistics.median(held.values())
        return self.finding(
            Severity.ERROR,
            f"{words}, and the base weights still contain what the adapter adds, "
            f"{slope:.2f} times",
            cause="This initialisation subtracts the adapter's start from each base "
            "weight. Here the adapter was loaded on the original base: its start "
            "counts twice.",
            fix="PeftModel.from_pretrained(base, folder), or save it with "
            "path_initial_model_for_weight_conversion for the untouched base.",
            places=[
                Place("config", _COMPUTED),
                Place("file", "adapter keys"),
                *(Place("param", f"{module}.base_layer.weight") for module in held),
            ],
            steps=(0, 0),
            evidence={"reason": "residual", "slope": slope, "threshold": NEAR},
            healthy="the slope of a base weight on its adapter's delta is 0 or below",
        )


def _words(where: str, values: tuple[str, Any, Any]) -> str:
    name, saved, live = values
    return f"{where} was saved with {name}={saved!r}, but the model has {live!r}"


def _held_by_base(run: Run, adapter: str) -> dict[str, float]:
    """Return by module how much of its delta an adapter's base holds, if it does."""
    row: Mapping[str, Any] = (start(run).get("delta_in_base") or {}).get(adapter) or {}
    rows = zip(*(row.get(k, ()) for k in ("modules", "slope", "sigma")), strict=True)
    sharp = {module: slope for module, slope, sigma in rows if sigma <= SHARP}
    above = {module: slope for module, slope in sharp.items() if slope > NEAR}
    return above if len(above) >= max(LEAST, SHARE * len(sharp)) else {}
