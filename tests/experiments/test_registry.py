"""All experiments, and their pages."""

import inspect
import sys

import pytest

import ftlab
from ftlab.experiments.registry import all_experiments
from ftlab.rules.registry import all_rules

SECTIONS = [
    "What must hold",
    "Why",
    "When it does not apply",
    "What to try",
    "References",
]
EVERY = [pytest.param(each, id=each.name) for each in all_experiments()]


def test_codes_and_names_are_used_once_and_in_order():
    codes = [each.code for each in all_experiments()]
    names = [each.name for each in all_experiments()]
    assert codes == sorted(set(codes))
    assert len(set(names) - {rule.name for rule in all_rules()}) == len(codes)


@pytest.mark.parametrize("experiment", EVERY)
def test_a_page_has_every_section_in_order(experiment):
    page = ftlab.explain(experiment.code)
    assert list(page.sections) == SECTIONS
    assert all(page.sections.values())
    assert page.name == experiment.name


@pytest.mark.parametrize("experiment", EVERY)
def test_a_page_is_headed_by_code_and_name(experiment):
    text = inspect.getdoc(sys.modules[type(experiment).__module__])
    assert text.startswith(f"{experiment.code}, {experiment.name}: ")
    assert text.splitlines()[0].endswith(".")


@pytest.mark.parametrize("experiment", EVERY)
def test_what_it_says_reads_as_sentences(experiment):
    assert experiment.cause.endswith(".")
    assert experiment.fix.endswith(".")
    assert not experiment.relation.endswith(".")


def test_a_page_shows_itself():
    assert repr(ftlab.explain("exp001")).startswith("EXP001 row-alone (preview, ")
    assert ftlab.explain("row-alone") == ftlab.explain("EXP001")
