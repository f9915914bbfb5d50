"""The public names: there, sorted, typed, and each one loaded when first used."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import ftlab

NAMES = {*ftlab.__all__, "data", "model"}
"""Those that a star does not import are users' names for variables as well."""

STUB = Path(ftlab.__file__).with_name("__init__.pyi")
HEAVY = {"torch", "numpy", "pandas", "matplotlib", "IPython", "transformers", "peft"}


def loaded_by(statement):
    """Run ``statement`` in a new interpreter and name the heavy modules it loaded."""
    program = f"import sys\n{statement}\nprint(*sorted(sys.modules))"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return HEAVY.intersection(result.stdout.split())


def exported_by_the_stub():
    tree = ast.parse(STUB.read_text())
    return {
        alias.asname: (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }


def test_importing_ftlab_loads_nothing_heavy():
    assert loaded_by("import ftlab") == set()


@pytest.mark.parametrize("module", ["numpy", "IPython"])
def test_notices_a_heavy_import(module):
    assert module in loaded_by(f"import ftlab, {module}")


def test_showing_the_names_loads_nothing_heavy():
    assert loaded_by("import ftlab; dir(ftlab); ftlab.options.widgets") == set()


def test_loading_the_extension_loads_no_training_library():
    loaded = loaded_by(
        "from IPython.core.interactiveshell import InteractiveShell as Shell\n"
        "import ftlab\n"
        "ftlab.load_ipython_extension(Shell.instance())"
    )
    assert loaded == {"IPython"}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_name_is_there_and_documented(name):
    value = getattr(ftlab, name)
    documented = type(value) if name == "options" else value
    assert inspect.getdoc(documented)


def test_names_are_sorted():
    assert list(ftlab.__all__) == sorted(ftlab.__all__)


def test_completion_offers_the_public_names():
    assert dir(ftlab) == sorted({*NAMES, "__version__"})


def test_stub_exports_the_same_names():
    assert set(exported_by_the_stub()) == {*NAMES, "__version__"}


def test_stub_gives_the_same_objects():
    for name, (module, attribute) in exported_by_the_stub().items():
        expected = __import__(module, fromlist=[attribute])
        assert getattr(ftlab, name) is getattr(expected, attribute)


@pytest.mark.parametrize(
    ("mistyped", "meant"), [("wacth", "watch"), ("open_runs", "open_run")]
)
def test_mistyped_name_is_answered_with_near_ones(mistyped, meant):
    with pytest.raises(AttributeError, match=f"Did you mean {meant}") as caught:
        getattr(ftlab, mistyped)
    assert caught.value.name == mistyped


def test_star_import_leaves_users_variables_alone():
    users = {"model", "data", "optimizer", "trainer", "tokenizer", "batch", "run"}
    assert users.isdisjoint(ftlab.__all__)
