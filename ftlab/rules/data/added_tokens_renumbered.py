"""The rule DAT077, added-tokens-renumbered.

## What it does
Finds added tokens that stand under different ids in two files of the tokenizer's
folder.

## Why is this bad?
One reader takes the ids of `tokenizer.json`, another those of `tokenizer_config.json`
or `added_tokens.json`: the same text has other ids, and the row that was trained for a
token is not the one that is looked up.

## Evidence
Tokens with their ids in `tokenizer.json`, in `added_tokens_decoder` of
`tokenizer_config.json`, and in `added_tokens.json`. There is no threshold: a token that
two files list must have one id. Files that list different tokens are healthy
(transformers 5 writes `tokenizer.json` alone).
By hand: `ftlab.tokenizer_files(folder)`.

## What to try
1. Load the tokenizer that was trained with, and `save_pretrained` into an empty folder.
2. Delete `added_tokens.json` where `tokenizer.json` is right.

## Known problems
A token that one file alone lists is not judged, whatever is loaded.

## References
- huggingface/transformers#35973 (slow and fast tokenizers of one model)
"""

from ftlab.rules.reading.tokenizer_folder import FolderRule


class AddedTokensRenumbered(FolderRule):
    """Finds added tokens under two ids."""

    code = "DAT077"
    name = "added-tokens-renumbered"
    since = "0.1.0"
    status = "preview"
    reason = "ids-unlike"
    cause = "Files of two tokenizers are in one folder, or one was edited by hand."
    fix = (
        "tokenizer.save_pretrained(empty_folder) of the tokenizer that was trained "
        "with."
    )
    healthy = "one id for each added token in all files"
