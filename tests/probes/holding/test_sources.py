"""Lines that fill or empty a holder are those of its own scope."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from ftlab.probes.holding.sources import emptying_lines, growing_lines

SCRIPT = """
class Average:
    def __init__(self):
        self.kept = {}

    def update(self, name, value):
        self.kept[name] = value

class Keeper:
    def __init__(self):
        self.kept = []

    def see(self, value):
        self.kept.append(value)
        if len(self.kept) > 40:
            self.kept = self.kept[-20:]

def train():
    window = []
    for value in range(9):
        window.append(value)
        if len(window) == 3:
            window = []

def other():
    window = []
    window.append(1)
    window.clear()
    del window[0]
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "script_of_sources.py"
    path.write_text(SCRIPT)
    module = ModuleType("script_of_sources")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    yield str(path)
    del sys.modules[module.__name__]


def numbers(lines: tuple[tuple[str, str], ...]) -> list[int]:
    return [int(place.rpartition(":")[2]) for place, _ in lines]


@pytest.mark.parametrize(
    ("name", "scopes", "growing", "emptying"),
    [
        ("kept", {"Keeper"}, [14], [16]),
        ("kept", {"Average"}, [7], []),
        ("window", {"train()"}, [21], [23]),
        ("window", {"other()"}, [27], [28, 29]),
        ("window", set(), [21, 27], [23, 28, 29]),
    ],
)
def test_lines_of_another_scope_are_left_out(file, name, scopes, growing, emptying):
    assert numbers(growing_lines(name, {file}, scopes)) == growing
    assert numbers(emptying_lines(name, {file}, scopes)) == emptying


def test_a_long_chain_of_operators_is_gone_through(file: str) -> None:
    Path(file).write_text(
        f"kept = []\ntext = {' + '.join(['1'] * 2500)}\nkept.append(1)"
    )
    assert numbers(growing_lines("kept", {file})) == [3]
