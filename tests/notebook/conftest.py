"""A shell of its own, and a real kernel, for tests of the notebook edge."""

import pytest

from tests.notebook.kernel import Kernel


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Make a shell in an empty folder; displays are kept in ``display_pub.outputs``."""
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=config)
    shell.find_line_magic("load_ext")  # IPython adds its own class at the first use
    shell.display_pub = CapturingDisplayPublisher(parent=shell)
    yield shell
    shell.extension_manager.unload_extension("ftlab")
    shell.reset(new_session=False)
    InteractiveShell.clear_instance()


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """Start a kernel and load the extension in it."""
    with Kernel(tmp_path_factory.mktemp("kernel")) as kernel:
        kernel.run("%load_ext ftlab")
        yield kernel
