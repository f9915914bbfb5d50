"""Acting on modules that are imported later."""

import importlib
import importlib.util
import sys

import pytest

from ftlab.session.import_hook import when_imported


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Offer two modules that nobody has imported yet."""
    (tmp_path / "ftlab_late.py").write_text("value = 1\n")
    (tmp_path / "ftlab_broken.py").write_text("value = 1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("ftlab_late", "ftlab_broken"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("library")
def test_acts_after_the_module_has_run():
    seen = []
    handle = when_imported("ftlab_late", lambda module: seen.append(module.value))
    assert seen == []
    module = importlib.import_module("ftlab_late")
    assert seen == [1]
    assert type(module.__spec__.loader).__name__ == "SourceFileLoader"
    assert module.__loader__ is module.__spec__.loader
    handle.remove()


def test_acts_at_once_on_what_is_loaded():
    seen = []
    when_imported("json", seen.append).remove()
    assert [module.__name__ for module in seen] == ["json"]


@pytest.mark.usefixtures("library")
def test_looking_whether_a_module_is_there_is_no_import():
    seen = []
    handle = when_imported("ftlab_late", seen.append)
    assert importlib.util.find_spec("ftlab_late") is not None
    assert seen == []
    importlib.import_module("ftlab_late")
    assert [module.__name__ for module in seen] == ["ftlab_late"]
    handle.remove()


@pytest.mark.usefixtures("library")
def test_a_removed_handle_leaves_no_finder_and_does_nothing():
    before = list(sys.meta_path)
    seen = []
    handle = when_imported("ftlab_late", seen.append)
    handle.remove()
    handle.remove()
    importlib.import_module("ftlab_late")
    assert seen == []
    assert sys.meta_path == before


@pytest.mark.usefixtures("library")
def test_an_import_that_fails_fails_as_before():
    seen = []
    handle = when_imported("ftlab_broken", seen.append)
    with pytest.raises(ZeroDivisionError):
        importlib.import_module("ftlab_broken")
    assert seen == []
    handle.remove()


def test_a_module_that_does_not_exist_stays_missing():
    handle = when_imported("ftlab_never", lambda _: None)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("ftlab_never")
    handle.remove()


@pytest.mark.usefixtures("library")
def test_two_can_wait_for_the_same_module():
    seen = []
    first = when_imported("ftlab_late", lambda _: seen.append("first"))
    second = when_imported("ftlab_late", lambda _: seen.append("second"))
    module = importlib.import_module("ftlab_late")
    assert seen == ["first", "second"]
    assert type(module.__loader__).__name__ == "SourceFileLoader"
    first.remove()
    second.remove()
