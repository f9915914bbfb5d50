from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial

import pytest

from ftlab.records.errors import RunFolderError
from ftlab.runlog.folder import (
    create_default,
    create_folder,
    default_folder,
    ranks,
    versions,
)


def test_the_default_folder_is_the_first_free_one(tmp_path):
    now = datetime(2026, 11, 20, 9, 5, 7)
    first = default_folder(now, tmp_path)
    assert first == tmp_path / "2026-11-20-090507-1"
    first.mkdir()
    assert default_folder(now, tmp_path) == tmp_path / "2026-11-20-090507-2"
    assert default_folder(now).parts[0] == "runs"


def test_runs_that_begin_at_once_get_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def create(path):
        create_folder(path, 0, {"by": number()})
        return path

    number = partial(next, iter(range(100)))
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: create_default(create), range(32)))
    assert len(set(made)) == 32
    assert all((path / "run.json").exists() for path in made)


def test_ranks_are_counted_by_their_folders(tmp_path):
    for name in ("rank-00003", "rank-00000", "rank-x", "other"):
        (tmp_path / name).mkdir()
    assert ranks(tmp_path) == (0, 3)
    assert ranks(tmp_path / "nothing") == ()


def test_a_folder_of_something_else_is_not_taken_for_a_rank_s(tmp_path):
    (tmp_path / "data").mkdir()
    for rank in (0, 1):
        with pytest.raises(RunFolderError, match="exists already"):
            create_folder(tmp_path, rank, {})
    (tmp_path / "data").rmdir()
    with pytest.raises(RunFolderError, match="exists already"):
        create_folder(tmp_path, 0, {})


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "file/run"])
def test_a_name_that_no_disk_takes_is_refused(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError, match="cannot be written"):
        create_folder(tmp_path / name, 0, {})


def test_a_rank_may_come_while_another_makes_the_folder(tmp_path):
    create_folder(tmp_path, 1, {})
    assert ranks(tmp_path) == (1,)


def test_a_dangling_link_is_refused(tmp_path):
    (tmp_path / "run").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RunFolderError, match="exists already"):
        create_folder(tmp_path / "run", 0, {})


def test_versions_name_what_is_installed():
    assert {"python", "ftlab", "numpy", "pyarrow"} <= set(versions())
