"""The rule DAT073, special-token-named-twice.

## What it does
Finds a special token that two files of the tokenizer's folder name differently.

## Why is this bad?
Which of them counts depends on who reads: transformers 4 and 5 and other engines read
other files first. An EOS that was corrected in `tokenizer_config.json` comes back as
the old one, is trained as the end of each answer, and nothing stops the model.

## Evidence
`bos_token`, `eos_token`, `pad_token` and `unk_token` in `tokenizer_config.json` and
`special_tokens_map.json` of the folder that the tokenizer was loaded from, as text.
There is no threshold: two files that name one token must name the same one.
Measured with transformers 5.23: a `special_tokens_map.json` that an older version left
wins, unless the configuration lists `added_tokens_decoder`. Where the run has set the
token after loading, the files are no matter. What `save_pretrained` writes agrees.
By hand: `ftlab.tokenizer_files(folder)`.

## What to try
1. Delete `special_tokens_map.json`: transformers 5 writes none.
2. Or write the same token into both files.

## Known problems
A token that one file alone names, and that nobody reads, is shown by
`ftlab.tokenizer_files` and not told here.

## References
- axolotl-ai-cloud/axolotl#1322, hiyouga/LlamaFactory#3041
"""

from ftlab.rules.reading.tokenizer_folder import FolderRule


class SpecialTokenNamedTwice(FolderRule):
    """Finds special tokens that two files name differently."""

    code = "DAT073"
    name = "special-token-named-twice"
    since = "0.1.0"
    status = "preview"
    reason = "names-unlike"
    cause = (
        "One of the files was edited, or left by an older version; each reader has an "
        "order of its own."
    )
    fix = (
        "Delete special_tokens_map.json, which transformers 5 no longer writes, or "
        "name the same token in both files."
    )
    healthy = "one name in all files"
