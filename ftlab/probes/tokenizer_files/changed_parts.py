"""Which parts of a tokenizer entries of its files can decide on."""

from collections.abc import Mapping, Sequence

from ftlab.probes.tokenizer_files.folder_files import TOKENIZER, VOCABULARIES
from ftlab.records.fingerprint import PARTS

_CORE = ("vocabulary", "merges", "model", "normaliser", "pre-tokeniser", "decoder")
_MARKS = ("special tokens", "added tokens", "vocabulary")
_FILES: Mapping[str, Sequence[str]] = {
    "special_tokens_map.json": _MARKS,
    "added_tokens.json": _MARKS,
    "chat_template.json": ("chat template",),
    "chat_template.jinja": ("chat template",),
    **dict.fromkeys(VOCABULARIES, _CORE),
}
_ENTRIES: Mapping[str, Sequence[str]] = {
    "model.vocab": ("vocabulary", "merges"),
    "model.merges": ("merges",),
    "normalizer": ("normaliser",),
    "pre_tokenizer": ("pre-tokeniser",),
    "post_processor": ("post-processor",),
    "decoder": ("decoder",),
    "added_tokens": ("added tokens", "vocabulary"),
    "truncation": (),
    "padding": (),
    "version": (),
    "chat_template": ("chat template",),
    "added_tokens_decoder": _MARKS,
    "additional_special_tokens": _MARKS,
    "extra_special_tokens": _MARKS,
    "add_bos_token": ("post-processor", "switches"),
    "add_eos_token": ("post-processor", "switches"),
    "add_prefix_space": ("normaliser", "pre-tokeniser", "decoder", "switches"),
    "legacy": ("normaliser", "pre-tokeniser", "decoder", "switches"),
    "tokenizer_class": PARTS,
}


def changed_parts(changed: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Return the parts that files may have changed in; more rather than less.

    Parameters
    ----------
    changed
        Entries by file, as `FolderStamps.changed` tells them.

    Examples
    --------
    >>> from ftlab.probes.tokenizer_files.changed_parts import changed_parts
    >>> sorted(
    ...     changed_parts({"tokenizer_config.json": ("eos_token", "model_max_length")})
    ... )
    ['added tokens', 'special tokens', 'switches', 'vocabulary']
    """
    return frozenset(
        part
        for file, entries in changed.items()
        for entry in entries
        for part in _parts(file, entry)
    )


def _parts(file: str, entry: str) -> Sequence[str]:
    if file in _FILES:
        return _FILES[file]
    if not entry:  # it is no JSON any more, or gone
        return PARTS
    if entry in _ENTRIES:
        return _ENTRIES[entry]
    if entry.endswith("_token"):
        return _MARKS
    return ("model",) if file == TOKENIZER else ("switches",)
