"""The rule ADP021, saved-unloadable.

## What it does
Finds models and adapters that are saved in a form that loading misreads: keys with a
wrapper's name in them (`layers.0._orig_mod.self_attn...`), a Trainer whose model hides
its PeftModel in another module, and a full model in a folder that contains an adapter's
configuration.

## Why is this bad?
The file exists and holds what was trained, but nothing loaded from it behaves like it.
Loading goes by name, skips what it does not know and starts from a fresh adapter, or
from random layers; resuming from a Trainer's checkpoint does so silently.
The Trainer looks only at the outer object. Where that is not a PeftModel, checkpoints
hold the whole model and no `adapter_config.json`; resuming and load_best_model_at_end
treat it as a whole model, and each checkpoint takes the size of the base.
`from_pretrained(folder)` looks for `adapter_config.json` first, and applies the adapter
that it finds to what it loads: to merged weights, which already contain it, so that it
counts twice, or is an older one of a checkpoint.

## Evidence
There is no threshold.
- *wrapper-name*: the keys that saving would write (PEFT's own selection for adapters,
  parameter names for a transformers model), and how many hold the name of a wrapper
  that stands within the model: `_orig_mod` of torch.compile, `module` of DDP.
  save_pretrained removes the wrapper around the whole model, which does not count, nor
  does FSDP's. Measured with torch 2.13, peft 0.21.2, transformers 5.23: all keys of
  wrapped layers contain it, also with `get_peft_model(torch.compile(base))`.
- *wrapper*: the class of the model that a trainer has, and the path of the PeftModel
  within it. Info where `save_strategy="no"` says that no checkpoint is planned. In a
  custom loop you decide what to save.
- *beside*: a `save_pretrained` of a model that writes all of its weights into a folder
  that then holds an `adapter_config.json`, where the base differs from what it was when
  the run began (merged, or trained). Measured on a tiny Llama whose adapter had been
  saved into the folder of its merged model: logits of what is loaded are 0.32 away from
  the merged model's, relative to their norm, and within 3e-7 of them from a folder of
  its own.
By hand: `[k for k in peft.get_peft_model_state_dict(model) if "_orig_mod" in k]`,
`isinstance(trainer.model, peft.PeftModel)`, and `ls folder`.

## What to try
1. `layer.compile()` instead of `layers[i] = torch.compile(layer)`: it compiles in place
   and changes no name. Or `torch.compile(model)` around the whole PeftModel. For an
   existing file: drop `_orig_mod.` from its keys and load it again.
2. Put a wrapper's head on the base model, and get_peft_model around all of it, with the
   head in modules_to_save; or save `trainer.model.inner` in a callback.
3. Save a merged model into a folder of its own, or remove `adapter_config.json` and
   `adapter_model.safetensors` from this one.

## Known problems
What custom code puts right is reported too: stripped keys, a `_save` that was
overridden, a folder that is cleared after the save. A custom model that is not a
transformers or PEFT model is not judged: its author decides how it is loaded. A base
that is saved unchanged beside its adapter is a complete pair.

## References
- MakazhanAlpamys/Soup#335, #351, #380 (320 of 320 keys with `_orig_mod.`)
- huggingface/peft#2957, pytorch/pytorch#101107
- huggingface/transformers#24274 (the Trainer decides by the outer class)
- huggingface/peft#1381 (the adapter is loaded instead of the merged model)
"""

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.saving import Described, needs_model, saving, span
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import an, counted, in_words


class SavedUnloadable(Rule):
    """Finds what no load will find, or find without an adapter on it."""

    code = "ADP021"
    caused_by = ("EXP014",)
    status = "stable"
    layer = "rollback"
    requires = needs_model

    def check(self, run: Run) -> Results:
        """Yield one finding for all wrapped modules, a wrapped model, a folder."""
        facts = saving(run)
        renamed = facts.get("renamed") or {}
        adapters = bool(run.facts.model.get("peft"))
        if renamed.get("renamed") and (adapters or facts.get("saver") != "Module"):
            yield self._finding(run, facts, renamed, adapters)
        trainer = str(run.facts.training.get("trainer_class") or "")
        if trainer and (inner := str(facts.get("hidden") or "")):
            yield self._hidden(run, inner, trainer)
        saves = [e for e in run.ledger if e.op == "save" and e.detail.get("beside")]
        if changed := [e for e in saves if e.detail.get("base_changed")]:
            yield self._beside(changed[0].step, changed[-1])

    def _finding(
        self, run: Run, facts: Described, renamed: Described, adapters: bool
    ) -> Finding:
        modules = list(facts.get("wrapped", ()))
        mark = modules[0].rpartition(".")[2]
        what = "adapter keys" if adapters else "model.safetensors"
        return self.warning(
            f"from step {run.facts.step}: saving writes {renamed['renamed']} of "
            f"{counted(renamed['keys'], 'key')} with {mark!r} in them, such as "
            f"{renamed['example']}; wrapped: {in_words(modules)}",
            cause="The modules were wrapped individually (layers[i] = "
            "torch.compile(...)), so the wrapper's name is part of every name inside: "
            "loading finds nothing under these names and starts afresh.",
            fix="Compile in place: layer.compile(), or wrap the whole model once. Drop "
            f"'{mark}.' from the keys of files that are already saved.",
            places={"file": what, "module": modules},
            steps=span(run, run.facts.step),
            reason="wrapper-name",
            evidence={
                "renamed": renamed["renamed"],
                "keys": renamed["keys"],
                "threshold": 0,
            },
            healthy="no saved key contains the name of a wrapper",
        )

    def _hidden(self, run: Run, inner: str, trainer: str) -> Finding:
        outer = str(run.facts.model.get("class") or "module")
        args = run.facts.training.get("args") or {}
        planned = args.get("save_strategy") != "no"
        return self.finding(
            Severity.WARNING if planned else Severity.INFO,
            f"from step {run.facts.step}: the model of the {trainer} is {an(outer)}, "
            f"with its PeftModel inside, as {inner}: checkpoints hold a full model and "
            "no adapter",
            cause="The PeftModel was wrapped in another module, but the Trainer looks "
            "only at the outer object when it saves, resumes and loads.",
            fix="Add the wrapper's parts to the base model before get_peft_model "
            "(heads in modules_to_save), so that the PeftModel is outermost; or save "
            f"model.{inner} yourself.",
            places={"module": inner, "file": "model.safetensors"},
            steps=span(run, run.facts.step),
            reason="wrapper",
            evidence={"outer": outer, "inner": inner},
            healthy="the model that a Trainer trains is the PeftModel itself",
        )

    def _beside(self, first: int, last: LedgerEntry) -> Finding:
        folder = str(last.detail["folder"])
        return self.warning(
            f"step {last.step}: the full model was saved to {folder}, which "
            "contains an adapter_config.json: from_pretrained will apply that "
            "adapter to the merged weights",
            cause="An adapter was saved into this folder before, and transformers "
            "applies an adapter that it finds to the model that it loads.",
            fix="Save the merged model into a folder of its own, or remove "
            "adapter_config.json and adapter_model.safetensors from this one.",
            places={
                "call": "save_pretrained",
                "file": ["adapter_config.json", "model.safetensors"],
            },
            steps=(first, last.step),
            reason="beside",
            evidence={"threshold": 0},
            healthy="a folder contains a full model, or an adapter",
        )
