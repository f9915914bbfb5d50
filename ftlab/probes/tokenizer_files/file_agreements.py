"""Compares what a tokenizer's files say, and with what transformers made of them."""

from collections.abc import Mapping

from ftlab.probes.tokenizer_files.content_agreements import content_agreements
from ftlab.probes.tokenizer_files.folder_files import FolderFiles
from ftlab.probes.tokenizer_files.lone_file import lone_file_agreements
from ftlab.probes.tokenizer_files.special_agreements import special_agreements
from ftlab.probes.tokenizer_files.vocabulary_files import vocabulary_agreements
from ftlab.probes.tokenizers.reader import Reader
from ftlab.records.tokenizer_files import Agreement


def file_agreements(
    files: FolderFiles, reader: Reader | None, rows: Mapping[str, int]
) -> tuple[Agreement, ...]:
    """Return what the files agree on, and what they do not.

    Parameters
    ----------
    reader
        Of the tokenizer that transformers loaded from the folder; ``None`` where it
        could not: then only files are compared.
    rows
        Rows of the embedding, by who tells them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizer_files.file_agreements import file_agreements
    >>> from ftlab.probes.tokenizer_files.folder_files import FolderFiles
    >>> values = {"tokenizer_config.json": {"eos_token": "</s>"}}
    >>> values["special_tokens_map.json"] = {"eos_token": "<e>"}
    >>> [told] = file_agreements(FolderFiles(Path(), (), values), None, {})
    >>> told.words
    "tokenizer_config.json says '</s>', special_tokens_map.json says '<e>'"
    """
    return (
        *special_agreements(files, reader),
        *content_agreements(files, reader, rows),
        *lone_file_agreements(files, reader),
        *vocabulary_agreements(files),
    )
