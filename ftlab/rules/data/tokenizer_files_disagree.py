"""The rule DAT073, tokenizer-files-disagree.

## What it does
Finds files of the tokenizer's folder that disagree: on a special token, the chat
template, BOS or EOS around a text, the ids of added tokens, the end at which a
generation stops, or the rows of the model's embedding.

## Why is this bad?
Which file counts depends on who reads: transformers 4 and 5 and other engines read
other files first. What is trained is then not what is served, an EOS that was corrected
in one file comes back as the old one and nothing stops the model, or the first text
with an id that has no row ends the run.

## Evidence
What the files say, and the tokenizer that transformers loads from the folder; there is
no threshold. *names-unlike*: `bos_token`, `eos_token`, `pad_token` or `unk_token` in
`tokenizer_config.json` and `special_tokens_map.json`. *template-hidden*: the template
in `tokenizer_config.json`, and another one in `chat_template.jinja`. *flag-idle*:
`add_bos_token` or `add_eos_token` without effect, where the samples, 4 at least, are
not as it says. *eos-not-heeded*: the EOS is not among the `eos_token_id` of
`generation_config.json`, or of `config.json` where there is no such file. *ids-unlike*:
an added token under two ids. *rows-missing*, an error: BOS, EOS, padding or the unknown
token, or 64 ids and more, have no row in the live embedding, in safetensors of the
folder, or by `vocab_size`. Where the run has set a token or a template after loading,
or resized the embedding, the files are no matter; more stops or rows than the
tokenizer's are healthy, and so is what `save_pretrained` writes.
Measured with transformers 5.23: a `special_tokens_map.json` that an older version left
wins, unless the configuration lists `added_tokens_decoder`; of a fast tokenizer without
a class of its own the post-processor decides, whatever the flags say; a generation
config that names no end stops nowhere.
By hand: `ftlab.tokenizer_files(folder)`.

## What to try
1. Load the tokenizer that was trained with, and `save_pretrained` into an empty folder.
2. Delete what transformers 5 no longer writes (`special_tokens_map.json`,
   `added_tokens.json`), and one of two templates.
3. `model.generation_config.eos_token_id = [old, tokenizer.eos_token_id]`, and save.
4. `model.resize_token_embeddings(len(tokenizer))` before `get_peft_model`, and train
   the new rows: `trainable_token_indices=[...]`.

## Known problems
A token that one file alone lists is not judged. Templates that differ in spaces alone
are told as well. An engine that is told its stops otherwise has it right. Few added
tokens without rows are not told before a batch holds one (DAT002).

## References
- axolotl-ai-cloud/axolotl#1322, hiyouga/LlamaFactory#3041 (names)
- hiyouga/LlamaFactory#7785, huggingface/text-generation-inference#3247 (templates)
- unslothai/unsloth#7903, unslothai/notebooks#251 (flags)
- meta-llama/llama-cookbook#640, vllm-project/vllm#4180 (stops)
- huggingface/transformers#35973 (ids), meta-llama/llama-cookbook#189 (rows)
"""

from collections.abc import Mapping
from typing import NamedTuple

from ftlab.records.sample_facts import SampleFacts
from ftlab.records.tokenizer_files import Agreement
from ftlab.rules.reading.samples import samples_of
from ftlab.rules.reading.tokenizer_folder import NEEDS_FILES, folder_news, is_told
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity


class Way(NamedTuple):
    """A way in which files disagree: why, what to do, and how it should be."""

    cause: str
    fix: str
    healthy: str
    severity: Severity = Severity.WARNING


WAYS: Mapping[str, Way] = {
    "names-unlike": Way(
        "One of the files was edited, or left by an older version; each reader has an "
        "order of its own.",
        "Delete special_tokens_map.json, which transformers 5 no longer writes, or "
        "name the same token in both files.",
        "one name in all files",
    ),
    "template-hidden": Way(
        "chat_template.jinja is read in place of the template in "
        "tokenizer_config.json, and only one of the two was edited.",
        "Keep one: delete the entry in tokenizer_config.json, or write the same text "
        "into both.",
        "one template, or the same in both files",
    ),
    "flag-idle": Way(
        "The post-processor in tokenizer.json decides what is put around a text; the "
        "flag is stored and not applied.",
        "Set tokenizer.add_bos_token (or add_eos_token) after loading, look at "
        'tokenizer("a").input_ids, and save the tokenizer.',
        "samples that begin and end as the flags say",
    ),
    "eos-not-heeded": Way(
        "The tokenizer and the generation config come from two versions.",
        "model.generation_config.eos_token_id = [..., tokenizer.eos_token_id], saved "
        "with the model.",
        "an eos_token_id with the tokenizer's EOS in it",
    ),
    "ids-unlike": Way(
        "Files of two tokenizers are in one folder, or one was edited by hand.",
        "tokenizer.save_pretrained(empty_folder) of the tokenizer that was trained "
        "with.",
        "one id for each added token in all files",
    ),
    "rows-missing": Way(
        "Tokens were added and the embedding was not resized, or the tokenizer is of "
        "another model.",
        "Name a token that the model knows, or load its own tokenizer. New tokens: "
        "model.resize_token_embeddings(len(tokenizer)), and train the new rows "
        "(trainable_token_indices, or modules_to_save).",
        "a row for each id that a text can have",
        Severity.ERROR,
    ),
}
"""By the reason of `ftlab.records.tokenizer_files.Agreement`."""

SAMPLES = 4
"""Samples that say whether a mark is there."""

_FLAGS: Mapping[str, str] = {"add_bos_token": "bos", "add_eos_token": "eos"}


class TokenizerFilesDisagree(Rule):
    """Finds files of one folder that disagree."""

    code = "DAT073"
    requires = NEEDS_FILES

    def applies(self, run: Run) -> bool:
        """Tell whether a folder was read, or nothing is known of the run."""
        return is_told(run, "read")

    def check(self, run: Run) -> Results:
        """Yield one finding for each subject in which files disagree."""
        for step, news in folder_news(run, "read"):
            for each in news.agreements:
                way = WAYS.get(each.reason)
                if way and (each.reason != "flag-idle" or _is_idle(run, each)):
                    yield self._finding(step, news.folder, each, way)

    def _finding(self, step: int, folder: str, each: Agreement, way: Way) -> Finding:
        says = {file: text[:80] for file, text in each.says.items()}
        return self.finding(
            way.severity,
            f"{each.subject} in {folder}: {each.words}",
            cause=way.cause,
            fix=way.fix,
            places=[*map(_place, says), *_setting(each.subject)],
            steps=(step, step),
            reason=each.reason,
            evidence={**says},
            healthy=way.healthy,
        )


def _place(name: str) -> Place:
    """Return the place of one who says something: a file, or the live model."""
    return Place("file", name) if "." in name else Place("object", name)


def _setting(subject: str) -> list[Place]:
    """Return the setting that a run suffers from where its EOS is another one."""
    if subject not in ("eos_token", "eos_token_id"):
        return []
    return [Place("config", "generation_config.eos_token_id")]


def _is_idle(run: Run, flag: Agreement) -> bool:
    """Tell whether the samples, where there are any, are not as a flag says."""
    kind, samples = _FLAGS.get(flag.subject, ""), samples_of(run)
    ids = samples.ids(kind)
    if not run.steps.step.size:
        return True
    if len(samples.sights) < SAMPLES or not ids:
        return False
    marked = [_has(each.sample, kind, ids) for each in samples.sights]
    on = "on" in flag.says.values()
    return not any(marked) if on else all(marked)


def _has(sample: SampleFacts, kind: str, ids: frozenset[int]) -> bool:
    edge = sample.start if kind == "bos" else sample.end - 1
    return any(each.id in ids and each.position == edge for each in sample.controls)
