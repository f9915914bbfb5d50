"""One look at a tokenizer's folder: its files, what is loaded of them, who agrees."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ftlab.probes.tokenizer_files.embedding_rows import broken_headers
from ftlab.probes.tokenizer_files.file_agreements import file_agreements
from ftlab.probes.tokenizer_files.folder_files import FolderFiles, read_folder
from ftlab.probes.tokenizer_files.odd_values import odd_values
from ftlab.probes.tokenizers.folder_tokenizer import load_tokenizer
from ftlab.probes.tokenizers.reader import Reader
from ftlab.probes.tokenizers.reader_of import reader_of
from ftlab.records.errors import BadValueError
from ftlab.records.said import said_of
from ftlab.records.tokenizer_files import Agreement


@dataclass(frozen=True, slots=True)
class FolderLook:
    """What was seen of a folder.

    Attributes
    ----------
    files
        What they hold.
    reader
        Of the tokenizer that transformers loads; ``None`` where it cannot.
    agreements
        What the files agree on, and what they do not.
    """

    files: FolderFiles
    reader: Reader | None
    agreements: tuple[Agreement, ...]


def look_at_folder(path: Path, rows: Mapping[str, int]) -> FolderLook:
    """Read the files of a folder, load its tokenizer, and compare all of it.

    Parameters
    ----------
    path
        The folder.
    rows
        Rows of the embedding, by who tells them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizer_files.folder_look import look_at_folder
    >>> [each.status for each in look_at_folder(Path("no such folder"), {}).agreements]
    ['not checked']
    """
    files = read_folder(path)
    unread = [each.name for each in files.states if each.problem]
    reader, told = _loaded(path, unread)
    broken = tuple(
        Agreement(file, "fails", problem) for file, problem in broken_headers(path)
    )
    told += (*broken, *odd_values(files))
    return FolderLook(files, reader, told + _agreements(files, reader, rows))


def _loaded(
    path: Path, unread: list[str]
) -> tuple[Reader | None, tuple[Agreement, ...]]:
    """Load the tokenizer where nothing stands against it, and say so if it does."""
    if unread:
        words = f"{', '.join(unread)} cannot be read, so the tokenizer was not loaded"
        return None, (Agreement("as loaded", "not checked", words),)
    try:
        return reader_of(load_tokenizer(path)), ()
    except BadValueError as error:
        words = f"transformers cannot load it: {said_of(error.__cause__ or error)}"
        return None, (Agreement("as loaded", "not checked", words),)


def _agreements(
    files: FolderFiles, reader: Reader | None, rows: Mapping[str, int]
) -> tuple[Agreement, ...]:
    try:
        return file_agreements(files, reader, rows)
    except Exception as error:
        if reader is None:
            raise
        words = f"what was loaded cannot be read: {said_of(error)}"
        told = Agreement("as loaded", "not checked", words)
        return (told, *file_agreements(files, None, rows))
