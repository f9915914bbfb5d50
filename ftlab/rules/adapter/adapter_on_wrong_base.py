"""The rule ADP024, adapter-on-wrong-base.

## What it does
Finds loaded adapters on other frozen weights than those they were trained on: another
base, a base from which a computed start (PiSSA, OLoRA) was not subtracted, or random
projections from a different key.

## Why is this bad?
Two checkpoints of one architecture have the same names and shapes: an adapter of one
loads silently on the other (v0.1 and v0.2, base and instruct) and adds a change made
for other weights. Quality is poor, and merging makes it permanent.
The same goes for what the file does not hold. With `save_projection=False` VeRA's
matrices are regenerated from `projection_prng_key`: a different key gives different
ones, and the trained vectors mean nothing. PiSSA moves a part of each weight into the
adapter: on a base that still has it, it counts twice.

## Evidence
*weights*: sixteen values of each of up to 48 adapted base weights, recorded when the
training run began, against the same values now. Of one dtype they must be equal to the
last bit; of two, within 1/64 of the value, twice the rounding of bfloat16.
Initialisations that write to the base (PiSSA, OLoRA...) are compared within 5 %. A
weight counts as another one when more than one of its values differs, and the finding
needs half of the weights, or all that differ are named as info. Needs the facts of the
training run: `ftlab.preflight(model, adapter=folder, trained_in=run_folder)`. Without
them the names in `base_model_name_or_path` and of the loaded base are compared, and a
difference of their last part is info (*name*).
The rest of `adapter_config.json` is compared with the configuration of the adapter in
the model, before the first step and at each `load_adapter` of the run, where the
adapter has the values of the file. The threshold is 0.
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
By hand: `torch.equal(w_now, w_then)` for one `base_layer.weight`, and
`adapter_config.json` against `model.peft_config[name]`.

## What to try
1. Load the base that `adapter_config.json` names, at the same revision.
2. Check whether the base was resized, merged into or quantised since.
3. `PeftModel.from_pretrained(base, folder)`: it follows the file's key. Or save with
   `save_projection=True`.
4. *residual*: save with `path_initial_model_for_weight_conversion`, which makes a plain
   LoRA for the untouched base.

## Known problems
4-bit and 8-bit weights cannot be sampled: *not checked* where one side is quantised. A
base that was fine-tuned a little differs in its last bits and is reported as a
different one, which it is. A generator may give different numbers on a different device
or version: that is not seen. `pissa_niter_4` draws at each start, so that even
from_pretrained computes another base: 0.19 in the logits of the tiny Llama above, of
random weights. Slopes of quantised bases and DoRA are not measured.

## References
- huggingface/peft#1388, #2502 (merged model differs from the adapter model)
- peft `tuners/vera/config.py`: what `save_projection=False` asks for
- huggingface/peft#1929, #1626 (PiSSA's base is not the one that was loaded)
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.records.name_words import in_words
from ftlab.rules.reading.base_samples import Compared, compare
from ftlab.rules.reading.base_weights import NEAR, SHARE, SHARP, merged_already
from ftlab.rules.reading.saving import adapter_file, needs_peft_model, span, start
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity

MANY = 0.5
"""Share of the sampled weights that must differ for a warning."""

PLAIN = ("True", "False", "gaussian")
"""Ways to begin that leave the base as it is."""

ROUGH = 0.05
"""Relative difference allowed after the others: they compute on the base, with SVDs."""


_COMPUTED = "init_lora_weights"

LEAST = 2
"""Modules that must count: one may lie anywhere by chance."""


class AdapterOnWrongBase(Rule):
    """Finds frozen weights that an adapter was not trained on."""

    code = "ADP024"
    status = "stable"
    requires = needs_peft_model
    caused_by = ("ADP023",)

    def check(self, run: Run) -> Results:
        """Yield one finding for the base, one for the file, one for each later load."""
        if start(run).get("trained_as") or adapter_file(run):
            yield from self._base(run)
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

    def _base(self, run: Run) -> Results:
        facts = start(run)
        trained = facts.get("trained_as") or {}
        if not trained:
            yield from self._by_name(run)
            return
        rows = (facts.get("adapters") or {}).values()
        plain = all(row["init"] in PLAIN for row in rows)
        least = 0.0 if plain else ROUGH
        compared = compare(trained.get("base") or {}, facts.get("base") or {}, least)
        if compared is None:
            yield self.cannot_tell(
                "no base weight could be sampled both when the adapter was trained and "
                "now: quantised, offloaded or sharded weights are not",
                "compare with a base in 16 or 32 bits",
            )
        elif compared.different and not any(merged_already(facts)):
            yield self._finding(run, compared)

    def _by_name(self, run: Run) -> Results:
        file = adapter_file(run)
        saved, live = str(file.get("saved_base", "")), str(file.get("live_base", ""))
        if saved and live and _last_part(saved) != _last_part(live):
            yield self.note(
                f"before step 0: the adapter was saved for {saved!r}, but its base is "
                f"now {live!r}",
                cause="The loaded base model has a different name than the one in "
                "adapter_config.json; equal shapes load silently.",
                fix=f"Load {saved!r} as the base, or check that both names refer to "
                "the same weights.",
                places={"config": "base_model_name_or_path"},
                steps=span(run),
                reason="name",
                evidence={"saved": saved, "loaded": live},
                healthy="the base is the one named in adapter_config.json",
            )

    def _finding(self, run: Run, compared: Compared) -> Finding:
        names: Sequence[str] = compared.different
        many = len(names) >= MANY * compared.weights
        return self.finding(
            Severity.WARNING if many else Severity.INFO,
            f"before step 0: {len(names)} of the {compared.weights} sampled base "
            f"weights differ from those the adapter was trained on: {in_words(names)}",
            cause="The adapter was loaded on a different checkpoint of the same "
            "shapes, or the base was changed since (merged into, resized, fine-tuned).",
            fix="Load the base that the adapter was trained on: "
            "base_model_name_or_path in adapter_config.json, at the same revision.",
            places={"param": names, "config": "base_model_name_or_path"},
            steps=span(run),
            reason="weights",
            evidence={
                "different": len(names),
                "weights": compared.weights,
                "largest_difference": compared.largest,
                "threshold": compared.tolerance,
            },
            healthy="every sampled base weight is the same as in the training run",
        )

    def _drawn(self, words: str, name: str, steps: tuple[int, int]) -> Finding:
        return self.error(
            f"{words}: the frozen part of the adapter is generated from it, and the "
            "file does not contain that part",
            cause="The adapter was created from a custom configuration, and the file's "
            "values, trained with a different frozen part, were loaded into it.",
            fix="PeftModel.from_pretrained(base, folder), or the file's value of "
            f"{name} in the configuration.",
            places={"config": name, "file": "adapter keys"},
            steps=steps,
            reason="drawn",
            evidence={"threshold": 0},
            healthy="the part is generated from the same key, or is in the file",
        )

    def _residual(self, words: str, held: Mapping[str, float]) -> Finding:
        slope = statistics.median(held.values())
        return self.error(
            f"{words}, and the base weights still contain what the adapter adds, "
            f"{slope:.2f} times",
            cause="This initialisation subtracts the adapter's start from each base "
            "weight. Here the adapter was loaded on the original base: its start "
            "counts twice.",
            fix="PeftModel.from_pretrained(base, folder), or save it with "
            "path_initial_model_for_weight_conversion for the untouched base.",
            places={
                "config": _COMPUTED,
                "file": "adapter keys",
                "param": [f"{module}.base_layer.weight" for module in held],
            },
            steps=(0, 0),
            reason="residual",
            evidence={"slope": slope, "threshold": NEAR},
            healthy="the slope of a base weight on its adapter's delta is 0 or below",
        )


def _last_part(name: str) -> str:
    return name.rstrip("/\\").replace("\\", "/").rpartition("/")[2].lower()


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
