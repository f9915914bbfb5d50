"""The rule DAT078, vocabulary-beyond-embedding.

## What it does
Finds a tokenizer whose folder has a model with fewer rows than the tokenizer has ids,
by so many that it is not its own, or so that a special token has no row. Also finds an
EOS or padding that a configuration names and `tokenizer.json` does not hold.

## Why is this bad?
The first text with such an id ends the run: an IndexError on a CPU, a device-side
assert somewhere else on a GPU. It may come after hours. Rows that a resize adds end the
error and not the fault: a model never says an EOS whose row nobody trains.

## Evidence
The highest id of the tokenizer that transformers loads, against the rows of the live
embedding, of safetensors in the folder, and `vocab_size` of `config.json`. Found where
BOS, EOS, padding or the unknown token have no row, or 64 ids and more have none.
Gemma 3 has one id without a row, for images, which texts never hold; padded embeddings
have rows that no id uses: both are healthy, and so is a live embedding that was resized
after loading. A named token counts as held where `tokenizer.json` or another file gives
it an id.
By hand: `len(tokenizer)` against `model.get_input_embeddings().weight.shape[0]`.

## What to try
1. Name a token that the model knows: `tokenizer.eos_token = "<|im_end|>"`.
2. Load the tokenizer of this very model.
3. `model.resize_token_embeddings(len(tokenizer))` before `get_peft_model`, and train
   the new rows: `trainable_token_indices=[...]`, or `modules_to_save=["embed_tokens",
   "lm_head"]`.

## Known problems
Few added tokens without rows are not told before a batch holds one (DAT002).

## References
- meta-llama/llama-cookbook#189, huggingface/transformers#24698
"""

from ftlab.records.finding import Severity
from ftlab.rules.reading.tokenizer_folder import FolderRule


class VocabularyBeyondEmbedding(FolderRule):
    """Finds vocabularies that the model has no rows for."""

    code = "DAT078"
    name = "vocabulary-beyond-embedding"
    since = "0.1.0"
    status = "preview"
    severity = Severity.ERROR
    reason = "rows-missing"
    cause = (
        "Tokens were added and the embedding was not resized, or the tokenizer is of "
        "another model."
    )
    fix = (
        "Name a token that the model knows, or load its own tokenizer. New tokens: "
        "model.resize_token_embeddings(len(tokenizer)), and train the new rows "
        "(trainable_token_indices, or modules_to_save)."
    )
    healthy = "a row for each id that a text can have"
