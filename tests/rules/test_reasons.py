"""What a rule tells apart stands on its page, by the word that its findings hold."""

import ast
import functools
import sys
from pathlib import Path

import pytest

from ftlab.rules import registry
from ftlab.rules.page import page_of

ROOT = Path(registry.__file__).parent
BESIDE = ("reading", "reasons")


@functools.cache
def tree_of(file):
    return ast.parse(file.read_text(encoding="utf-8"))


def helpers(file, known):
    """Add the modules beside the areas that a file imports, and those that they do."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.ImportFrom) and str(node.module).count(".") == 3:
            folder, module = str(node.module).split(".")[2:]
            beside = ROOT / folder / f"{module}.py"
            if folder in BESIDE and beside.is_file() and beside not in known:
                known = helpers(beside, known | {beside})
    return known


def words(node):
    """Give the words that an expression can be."""
    either = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]
    return {str(each.value) for each in either if isinstance(each, ast.Constant)}


def reasons_in(file):
    """Find what a finding or its evidence calls a reason, and the names of a Reason."""
    found = set()
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.keyword) and node.arg == "reason":
            found |= words(node.value)
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "reason":
                    found |= words(value)
        named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if named and node.args and node.func.id.endswith(("Reason", "Why")):
            found |= words(node.args[0])
    return found


def reasons_of(rule):
    file = Path(sys.modules[type(rule).__module__].__file__)
    return set().union(*map(reasons_in, {file} | helpers(file, frozenset())))


@pytest.mark.parametrize("rule", registry.all_rules(), ids=lambda rule: rule.code)
def test_a_page_names_each_reason_that_its_rule_tells_apart(rule):
    told = reasons_of(rule)
    page = " ".join(repr(page_of(rule)).split())
    assert [each for each in sorted(told) if each not in page and len(told) > 1] == []


def test_reasons_are_found_in_a_rule_and_in_what_it_is_written_with():
    told = reasons_of(registry.find_rule("GRD003"))
    assert {"stale-graph", "no-labels", "graph-cut", "unknown"} <= told
    assert reasons_of(registry.find_rule("ADP044")) == {"saved", "moves"}
