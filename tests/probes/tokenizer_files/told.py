"""Folders that exist only as what was read of them."""

from pathlib import Path

from ftlab.probes.tokenizer_files.folder_files import FolderFiles
from ftlab.records.tokenizer_files import FileState


def files(revisions=None, **values) -> FolderFiles:
    """Return a folder of these files; ``__`` in a name stands for the dot."""
    named = {name.replace("__", "."): each for name, each in values.items()}
    states = tuple(
        FileState(name, revision=each) for name, each in (revisions or {}).items()
    )
    return FolderFiles(Path(), states, named)
