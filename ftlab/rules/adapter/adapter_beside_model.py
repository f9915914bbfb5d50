"""The rule ADP061, adapter-beside-model.

## What it does
Finds full models with trained weights that are saved into a folder that contains an
adapter's configuration.

## Why is this bad?
`from_pretrained(folder)` looks for `adapter_config.json` first. Where it finds one, it
applies that adapter to what it loads: to merged weights, which already contain an
adapter, so that it counts twice, and possibly an older one, if it is a checkpoint's.
The model's file is right, but nothing loaded from this folder behaves like it.

## Evidence
Each `save_pretrained` of a model that writes all of its weights: whether the folder
then holds an `adapter_config.json`, and whether the base differs from what it was when
the run began (merged, or trained). There is no threshold. Read in transformers 5.23
(`AutoModel.from_pretrained`) and measured with it and peft 0.21.2, a tiny Llama
whose adapter had been saved into the folder of its merged model: logits of what is
loaded are 0.32 away from the merged model's, relative to their norm, and within
3e-7 of them from a folder of its own.
By hand: `ls folder` shows `adapter_config.json` beside `model.safetensors`.

## What to try
1. Save the merged model into a folder of its own.
2. Remove `adapter_config.json` and `adapter_model.safetensors` from this one.

## Known problems
A folder that is cleared or moved after the save is reported too. A base that is saved
unchanged, for the adapter next to it, is not reported: that is a complete pair.

## References
- huggingface/peft#1381 (the adapter is loaded instead of the merged model)
- transformers documentation, "PEFT": adapters are found by their configuration
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Place, Severity
from ftlab.rules.reading.saving import needs_model
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run


class AdapterBesideModel(Rule):
    """Finds saved models that nobody can load without an adapter on them."""

    code = "ADP061"
    name = "adapter-beside-model"
    since = "0.1.0"
    status = "stable"
    layer = "rollback"
    requires = (needs_model,)

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding for the last save of this kind."""
        saves = [
            entry
            for entry in run.ledger
            if entry.op == "save"
            and entry.detail.get("beside")
            and entry.detail.get("base_changed")
        ]
        if saves:
            last = saves[-1]
            folder = str(last.detail["folder"])
            yield self.finding(
                Severity.WARNING,
                f"step {last.step}: the full model was saved to {folder}, which "
                "contains an adapter_config.json: from_pretrained will apply that "
                "adapter to the merged weights",
                cause="An adapter was saved into this folder before, and transformers "
                "applies an adapter that it finds to the model that it loads.",
                fix="Save the merged model into a folder of its own, or remove "
                "adapter_config.json and adapter_model.safetensors from this one.",
                places=[
                    Place("call", "save_pretrained"),
                    Place("file", "adapter_config.json"),
                    Place("file", "model.safetensors"),
                ],
                steps=(saves[0].step, last.step),
                evidence={"saves": len(saves), "threshold": 0},
                healthy="a folder contains a full model, or an adapter",
            )
