"""Meta-tests: what must hold for every rule, and how rules are found."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ftlab.rules
from ftlab.experiments.registry import all_experiments
from ftlab.records.errors import FtlabError, UnknownNameError
from ftlab.rules.engine import Engine
from ftlab.rules.page import OPTIONAL, SECTIONS, page_of
from ftlab.rules.registry import (
    AREAS,
    PREFIXES,
    RETIRED,
    all_rules,
    find_rule,
    rule_class,
    rule_modules,
)
from ftlab.rules.rule import ANY, Rule
from ftlab.runlog.run import Run

RULES = all_rules()
FORBIDDEN = ("avoid-", "check-", "use-", "bad-")
ids = [rule.code for rule in RULES]


def module_of(rule):
    return type(rule).__module__


def test_there_are_ten_rules_of_the_first_release():
    assert set(ids) >= {
        "GRD001",
        "GRD002",
        "GRD003",
        "NUM001",
        "NUM002",
        "ADP001",
        "ADP002",
        "OPT001",
        "OPT002",
        "OPT003",
    }


def test_every_area_is_a_folder_and_has_a_prefix():
    folder = Path(ftlab.rules.__file__).parent
    folders = {p.name for p in folder.iterdir() if (p / "__init__.py").is_file()}
    assert folders - {"reading", "reasons"} == set(AREAS) == set(PREFIXES)


def test_codes_and_names_are_unique():
    assert len(set(ids)) == len({rule.name for rule in RULES}) == len(RULES)


def test_every_file_holds_exactly_one_rule():
    assert len(rule_modules()) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=ids)
def test_the_prefix_is_the_areas(rule):
    area = module_of(rule).split(".")[-2]
    assert re.fullmatch(rf"{PREFIXES[area]}\d\d\d", rule.code)


@pytest.mark.parametrize("rule", RULES, ids=ids)
def test_the_name_is_the_file_and_names_the_fault(rule):
    assert rule.name == module_of(rule).split(".")[-1].replace("_", "-")
    assert not rule.name.startswith(FORBIDDEN)


@pytest.mark.parametrize("rule", RULES, ids=ids)
def test_the_page_is_complete_and_in_order(rule):
    page = page_of(rule)
    expected = [s for s in SECTIONS if s in page.sections or s not in OPTIONAL]
    assert list(page.sections) == expected
    assert all(len(text) > 20 for text in page.sections.values())
    first = sys.modules[module_of(rule)].__doc__.splitlines()[0]
    assert first == f"The rule {rule.code}, {rule.name}."


@pytest.mark.parametrize("rule", RULES, ids=ids)
def test_status_and_version_are_stated(rule):
    assert rule.status in ("preview", "stable", "deprecated", "removed")
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.since)


@pytest.mark.parametrize("rule", RULES, ids=ids)
def test_is_not_checked_on_an_empty_run_and_says_what_to_record(rule):
    report = Engine([rule]).check(Run())
    assert report.findings == ()
    (entry,) = report.not_checked
    assert (entry.code, entry.name) == (rule.code, rule.name)
    assert entry.reason
    assert entry.record


@pytest.mark.parametrize("rule", RULES, ids=ids)
def test_its_causes_are_other_rules(rule):
    for code in set(rule.caused_by) - {ANY}:
        if code.startswith("EXP"):
            assert code in {each.code for each in all_experiments()}
        else:
            assert find_rule(code).code == code != rule.code


@pytest.mark.parametrize("asked", ["GRD001", "grd001", " vanishing-gradient "])
def test_finds_a_rule_by_code_or_name(asked):
    assert find_rule(asked).code == "GRD001"


@pytest.mark.parametrize("code", RETIRED)
def test_a_retired_code_is_none_of_a_rule_and_says_what_became_of_it(code):
    assert code not in {rule.code for rule in all_rules()}
    if RETIRED[code]:
        assert find_rule(code.lower()).code == RETIRED[code]
    else:
        with pytest.raises(UnknownNameError, match=f"The rule {code} is retired"):
            find_rule(code)


def test_an_unknown_rule_lists_near_ones():
    with pytest.raises(UnknownNameError, match=r"non-finite-loss \(NUM001\)"):
        find_rule("nonfinite-loss")
    with pytest.raises(UnknownNameError, match="list_rules"):
        find_rule("???")


def test_a_file_with_two_rules_is_refused():
    module = ModuleType("two")
    for name in ("One", "Two"):
        kind = type(name, (Rule,), {"__module__": "two", "check": lambda *_: ()})
        setattr(module, name, kind)
    with pytest.raises(FtlabError, match="two defines 2 rules"):
        rule_class(module)
