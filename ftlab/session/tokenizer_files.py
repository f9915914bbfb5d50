"""`ftlab.tokenizer_files`: do a tokenizer's files agree, and which of them is read."""

import os
from pathlib import Path
from typing import Any

from ftlab.probes.tokenizer_files.embedding_rows import base_folder, embedding_rows
from ftlab.probes.tokenizer_files.folder_look import look_at_folder
from ftlab.probes.tokenizers.folder_tokenizer import is_folder
from ftlab.records.errors import BadValueError
from ftlab.records.event import Event
from ftlab.records.finding import Finding
from ftlab.records.folder_news import FolderNews
from ftlab.records.said import said_of
from ftlab.records.tokenizer_files import TokenizerFiles
from ftlab.rules.engine import Engine
from ftlab.rules.registry import find_rule
from ftlab.rules.words import an
from ftlab.runlog.run import Run
from ftlab.views.tokenizers.tokenizer_files import TokenizerFilesView


def tokenizer_files(folder: str | Path, model: Any = None) -> TokenizerFilesView:
    """Compare the files of a tokenizer with each other, and with what is loaded.

    Read are ``tokenizer.json``, ``tokenizer_config.json``, ``special_tokens_map.json``,
    ``added_tokens.json``, ``chat_template.jinja`` and ``chat_template.json``,
    ``config.json``, ``generation_config.json``, ``adapter_config.json``, and the
    headers of safetensors. Where they disagree, the tokenizer that transformers loads
    from the folder tells which of them it reads.

    Parameters
    ----------
    folder
        Of a model, an adapter or a tokenizer.
    model
        The live model that is trained with it, for the rows of its embedding.

    Returns
    -------
    TokenizerFilesView
        ``ok``, ``table()``, ``figure()`` and ``widget()``; ``findings``, what the rules
        about files say of the disagreements, worst first.

    Raises
    ------
    BadValueError
        There is no such folder, or ``model`` has no embedding. Nothing that is in the
        folder raises: a file that cannot be read is named.

    Notes
    -----
    Code that lies in the folder is not run. A ``tokenizer.json`` above 512 MiB and any
    other of these files above 8 MiB is not opened.

    Examples
    --------
    >>> import json, tempfile, ftlab
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "tokenizer_config.json").write_text('{"eos_token": "</s>"}')
    >>> _ = (folder / "special_tokens_map.json").write_text('{"eos_token": "<e>"}')
    >>> ftlab.tokenizer_files(folder).ok
    False
    >>> ftlab.tokenizer_files("no/such/folder")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: 'no/such/folder' is no folder; ...
    """
    path = _checked(folder)
    look = look_at_folder(path, _rows(path, model))
    found = TokenizerFiles(path.name or str(path), look.files.states, look.agreements)
    return TokenizerFilesView(found, _findings(found))


def _findings(files: TokenizerFiles) -> tuple[Finding, ...]:
    """Let the rules about folders judge one that nobody trains with yet."""
    run = Run()
    news = FolderNews("read", files.folder, agreements=files.agreements)
    run.append(Event("tokenizer-files", 0, 0.0, "", news.as_json()))
    return Engine([find_rule("DAT073")]).check(run).findings


def _checked(folder: Any) -> Path:
    if isinstance(folder, str | os.PathLike):
        if is_folder(Path(folder)):
            return Path(folder)
        what = f"{str(folder)!r} is no folder"
    else:
        what = f"tokenizer_files(folder) was given {an(type(folder).__name__)}"
    msg = (
        f"{what}; pass the folder that tokenizer.save_pretrained(folder) or "
        "trainer.save_model(folder) wrote."
    )
    raise BadValueError(msg)


def _rows(path: Path, model: Any) -> dict[str, int]:
    try:
        return embedding_rows(path, model) or embedding_rows(base_folder(path) or path)
    except Exception as error:
        msg = (
            f"model is {an(type(model).__name__)} without an embedding of tokens that "
            f"can be read: {said_of(error)}. Pass the trained model, or none."
        )
        raise BadValueError(msg) from error
