"""Folders of tokenizers, whose files are edited before they are loaded."""

import json
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ftlab.faults.builders.chats import answers_only, chats, padded_by_length, sized
from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw
from ftlab.faults.fault import Case

CONFIG, MAP = "tokenizer_config.json", "special_tokens_map.json"
TEMPLATE = "chat_template.jinja"


def loaded(made: Any, edit: Callable[[Path], object] = lambda _: None) -> Any:
    """Save a tokenizer and its model's configuration, edit the files, and load it.

    The folder goes when what was loaded goes.
    """
    from transformers import AutoTokenizer

    above = tempfile.mkdtemp(prefix="ftlab-")
    folder = Path(above) / "base"
    made.save_pretrained(folder)
    model = sized(made)
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    edit(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    weakref.finalize(tokenizer, shutil.rmtree, above, True)
    return tokenizer


def folder_of(tokenizer: Any) -> Path:
    """Return the folder that a tokenizer was loaded from."""
    return Path(tokenizer.name_or_path)


def change(file: Path, **entries: Any) -> None:
    """Change entries of a JSON file, as one does by hand; ``None`` takes one out."""
    told = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    kept = {name: each for name, each in (told | entries).items() if each is not None}
    file.write_text(json.dumps(kept), encoding="utf-8")


def looped(
    tokenizer: Any, model: Any = None, rows: Any = None, *, size: int = 4
) -> Case:
    """Make the case of a loop of one's own, on chats by default, ``size`` at a time."""
    model = sized(tokenizer) if model is None else model
    rows = answers_only(tokenizer, chats()) if rows is None else rows
    collate = padded_by_length(tokenizer)
    batches = [dict(collate(rows[at : at + size])) for at in range(0, len(rows), size)]
    optimizer = adamw(model)
    step = plain_step(model, optimizer)
    return Case(model, optimizer, batches, step, tokenizer=tokenizer)


def between(case: Case, at: int, what: Callable[[], object]) -> Case:
    """Do something before one of the steps of a loop."""
    step = case.step

    def stepped(batch: Any) -> float:
        if len(case.losses) == at:
            what()
        return float("nan") if step is None else step(batch)

    case.step = stepped
    return case
