"""The rule DAT076, eos-not-among-stops.

## What it does
Finds a tokenizer whose EOS is not among the ids at which `generation_config.json` of
its folder, or `config.json`, lets a generation stop.

## Why is this bad?
Training ends each text with the tokenizer's EOS; what is served by these files runs on
behind it.

## Evidence
`eos_token_id` of `generation_config.json`, or of `config.json` where there is no such
file, and the EOS of the tokenizer that transformers loads from the folder. Where the
file is there and names none, `generate` stops nowhere, whatever `config.json` says
(measured with transformers 5.23). There is no threshold. More stops than the
tokenizer's are healthy (Llama 3, Phi 3, Gemma), and so is a live model whose generation
config knows the EOS: a Trainer sets it.
By hand: `ftlab.tokenizer_files(folder)`.

## What to try
1. `model.generation_config.eos_token_id = [old, tokenizer.eos_token_id]`, and save.
2. Name the other token as `eos_token` in `tokenizer_config.json`.

## Known problems
An engine that is told its stops otherwise has it right: a warning.

## References
- meta-llama/llama-cookbook#640, vllm-project/vllm#4180
"""

from ftlab.rules.reading.tokenizer_folder import FolderRule


class EosNotAmongStops(FolderRule):
    """Finds an EOS at which no generation stops."""

    code = "DAT076"
    name = "eos-not-among-stops"
    since = "0.1.0"
    status = "preview"
    reason = "eos-not-heeded"
    caused_by = ("DAT073",)
    cause = "The tokenizer and the generation config come from two versions."
    fix = (
        "model.generation_config.eos_token_id = [..., tokenizer.eos_token_id], saved "
        "with the model."
    )
    healthy = "an eos_token_id with the tokenizer's EOS in it"
