"""Loading and unloading the extension in a real shell."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.ipython


def registered(shell):
    """Name everything that an extension could leave in a shell."""
    formatter = shell.display_formatter
    return {
        "line magics": set(shell.magics_manager.magics["line"]),
        "cell magics": set(shell.magics_manager.magics["cell"]),
        "classes": set(shell.magics_manager.registry),
        "configurables": {type(each).__name__ for each in shell.configurables},
        "matchers": len(shell.Completer.custom_matchers),
        "events": {name: len(each) for name, each in shell.events.callbacks.items()},
        "figures": set(formatter.formatters["image/png"].deferred_printers),
        "shown": set(formatter.ipython_display_formatter.deferred_printers),
    }


def hosts():
    from ftlab.session.host import host

    return type(host()).__name__


def test_load_registers_magics_completion_formatters_and_host(shell):
    before = registered(shell)
    shell.run_line_magic("load_ext", "ftlab")
    after = registered(shell)
    assert after["line magics"] - before["line magics"] == {"ftlab"}
    assert after["cell magics"] - before["cell magics"] == {"ftlab"}
    assert after["matchers"] == before["matchers"] + 1
    assert ("matplotlib.figure", "Figure") in after["figures"]
    assert hosts() == "NotebookHost"


def test_unload_leaves_nothing(shell):
    before = registered(shell)
    shell.run_line_magic("load_ext", "ftlab")
    assert registered(shell) != before
    shell.run_line_magic("unload_ext", "ftlab")
    assert registered(shell) == before
    assert hosts() == "QuietHost"


def test_loading_twice_registers_once(shell):
    shell.run_line_magic("load_ext", "ftlab")
    once = registered(shell)
    shell.run_line_magic("load_ext", "ftlab")
    import ftlab

    ftlab.load_ipython_extension(shell)
    assert registered(shell) == once


def test_reload_leaves_one_of_each(shell):
    shell.run_line_magic("load_ext", "ftlab")
    once = registered(shell)
    shell.run_line_magic("reload_ext", "ftlab")
    assert registered(shell) == once


def test_load_imports_neither_torch_nor_matplotlib():
    code = (
        "import sys\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell()\n"
        "shell.run_line_magic('load_ext', 'ftlab')\n"
        "heavy = {'torch', 'matplotlib', 'pandas', 'numpy', 'transformers'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_figure_is_shown_as_png(shell):
    from matplotlib.figure import Figure

    shell.run_line_magic("load_ext", "ftlab")
    data, _ = shell.display_formatter.format(Figure(figsize=(1, 1)))
    assert data["image/png"][1:4] == b"PNG"
    shell.run_line_magic("unload_ext", "ftlab")
    data, _ = shell.display_formatter.format(Figure(figsize=(1, 1)))
    assert "image/png" not in data


def test_a_figure_formatter_of_the_user_stays(shell):
    formatter = shell.display_formatter.formatters["image/png"]
    formatter.for_type_by_name("matplotlib.figure", "Figure", lambda _: b"mine")
    shell.run_line_magic("load_ext", "ftlab")
    shell.run_line_magic("unload_ext", "ftlab")
    assert formatter.lookup_by_type("matplotlib.figure.Figure")(None) == b"mine"
    formatter.pop("matplotlib.figure.Figure")
