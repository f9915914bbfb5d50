"""The rule ADP021, wrapper-name-in-keys.

## What it does
Finds individually wrapped modules whose wrapper's name ends up in the saved keys:
`layers.0._orig_mod.self_attn...`.

## Why is this bad?
A file with such keys cannot be loaded back: loading goes by name, skips what it does
not know and starts from a fresh adapter, or from random layers. Resuming from a
Trainer's checkpoint does so silently.

## Evidence
The keys that saving would write (PEFT's own selection for adapters, parameter names for
a transformers model), and how many hold the name of a wrapper that stands within the
model: `_orig_mod` of torch.compile, `module` of DDP. save_pretrained removes the
wrapper around the whole model, which does not count, nor does FSDP's. There is no
threshold. Measured with torch 2.13, peft 0.21.2, transformers 5.23: all keys of wrapped
layers contain the name, also with `get_peft_model(torch.compile(base))`.
By hand: `[k for k in peft.get_peft_model_state_dict(model) if "_orig_mod" in k]`.

## What to try
1. `layer.compile()` instead of `layers[i] = torch.compile(layer)`: it compiles in place
   and changes no name.
2. `torch.compile(model)` around the whole PeftModel, after get_peft_model.
3. For an existing file: drop `_orig_mod.` from its keys and load it again.

## Known problems
Stripping the keys with custom code is reported too. A custom model that is not a
transformers or PEFT model is not judged: its author decides how its state dict is
loaded.

## References
- MakazhanAlpamys/Soup#335, #351, #380 (320 of 320 keys with `_orig_mod.`)
- huggingface/peft#2957, pytorch/pytorch#101107
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.saving import Described, needs_model, saving, span
from ftlab.rules.rule import Rule
from ftlab.rules.words import counted
from ftlab.runlog.run import Run


class WrapperNameInKeys(Rule):
    """Finds keys that will be saved under names that no load looks for."""

    code = "ADP021"
    name = "wrapper-name-in-keys"
    since = "0.1.0"
    status = "stable"
    layer = "rollback"
    requires = (needs_model,)

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding for all wrapped modules."""
        facts = saving(run)
        renamed = facts.get("renamed") or {}
        adapters = bool(run.facts.model.get("peft"))
        if renamed.get("renamed") and (adapters or facts.get("saver") != "Module"):
            yield self._finding(run, facts, renamed, adapters)

    def _finding(
        self, run: Run, facts: Described, renamed: Described, adapters: bool
    ) -> Finding:
        modules = list(facts.get("wrapped", ()))
        mark = modules[0].rpartition(".")[2]
        what = "adapter keys" if adapters else "model.safetensors"
        return self.finding(
            Severity.WARNING,
            f"from step {run.facts.step}: saving writes {renamed['renamed']} of "
            f"{counted(renamed['keys'], 'key')} with {mark!r} in them, such as "
            f"{renamed['example']}; wrapped: {in_words(modules)}",
            cause="The modules were wrapped individually (layers[i] = "
            "torch.compile(...)), so the wrapper's name is part of every name inside: "
            "loading finds nothing under these names and starts afresh.",
            fix="Compile in place: layer.compile(), or wrap the whole model once. Drop "
            f"'{mark}.' from the keys of files that are already saved.",
            places=[
                Place("file", what),
                *(Place("module", name) for name in modules),
            ],
            steps=span(run, run.facts.step),
            evidence={
                "renamed": renamed["renamed"],
                "keys": renamed["keys"],
                "threshold": 0,
            },
            healthy="no saved key contains the name of a wrapper",
        )
