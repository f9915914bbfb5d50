"""Which disagreements of files a run has mended after it loaded its tokenizer."""

from collections.abc import Iterable
from typing import Any

from ftlab.probes.plain import readable
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tokenizer_files.embedding_rows import LIVE
from ftlab.probes.tokenizer_files.folder_files import TEMPLATE, FolderFiles
from ftlab.probes.tokenizers.reader_of import reader_of
from ftlab.probes.tokens.pieces import special_ids, text_tokenizer
from ftlab.records.tokenizer_files import Agreement

CONFIG = "tokenizer_config.json"


def unmended(
    agreements: Iterable[Agreement], files: FolderFiles, subject: Subject
) -> tuple[Agreement, ...]:
    """Leave out what the user has set as it should be, or the Trainer for him.

    Parameters
    ----------
    agreements
        About the files that the run's tokenizer was loaded from.
    files
        What they hold.
    subject
        The live tokenizer, and the model whose generation is asked for its ends.
    """
    live, model = text_tokenizer(subject.tokenizer), innermost(subject.model)
    return tuple(
        each
        for each in agreements
        if not (
            _is_set(each, files, live)
            or _is_heeded(each, live, model)
            or _is_resized(each, live)
        )
    )


def _is_set(told: Agreement, files: FolderFiles, live: Any) -> bool:
    """Tell whether the live one has what the configuration says, or the user's own.

    A template that no file holds is the user's own.
    """
    if told.status != "differs":
        return False
    if told.subject == "chat template":
        now = readable(now=lambda: live.chat_template).get("now")
        return now is not None and now != files.values.get(TEMPLATE)
    said = told.says.get(CONFIG)
    found = readable(now=lambda: getattr(live, told.subject))
    return said is not None and found.get("now") == said


def _is_heeded(told: Agreement, live: Any, model: Any) -> bool:
    """Tell whether a generation of the live model ends at the tokenizer's EOS."""
    if told.subject != "eos_token_id" or told.status != "differs":
        return False
    ends = readable(ends=lambda: model.generation_config.eos_token_id).get("ends")
    heeded = set(ends if isinstance(ends, list | tuple) else [ends])
    return bool(special_ids(live).get("eos", frozenset()) & heeded)


def _is_resized(told: Agreement, live: Any) -> bool:
    """Tell whether the live embedding has a row for each id, whatever files say."""
    rows = told.says.get(LIVE, "").replace(",", "")
    if told.status != "fails" or not rows.isdecimal():
        return False
    reader = reader_of(live)
    return reader is not None and max(at for at, _ in reader.vocabulary()) < int(rows)
