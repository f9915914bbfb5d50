"""Every rule over a healthy run, and some over a run without batches.

What all of them say of an empty run is in test_registry.py.
"""

import functools

import pytest

from ftlab.rules.registry import all_rules, find_rule
from tests.rules.data import odd
from tests.runs import RunBuilder, found_by, healthy_lora, report_by

every_rule = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)

NOT_MEASURED = """
    ADP007 ADP010 ADP011 ADP012 ADP013 ADP014 ADP015 ADP016 ADP017 ADP018 ADP019 ADP036
    ADP040 ADP041 ADP051 DAT002 DAT004 DAT005 DAT007 DAT009 DAT013 DAT017 DAT018 DAT020
    DAT022 DAT023 DAT025 DAT028 DAT029 DAT030 DAT031 DAT047 DAT048 ENV009 GRD010 MEM001
    MEM002 MOD017 NUM011 NUM013 NUM014 NUM015 NUM018 NUM020 NUM026 OPT013 OPT023 OPT027
    TIM001 TIM002 TIM003
"""
"""Who lacks a need in `healthy_lora`; all others decide there, or are left out."""

OF_BATCHES = """
    DAT002 DAT004 DAT005 DAT007 DAT009 DAT013 DAT017 DAT018 DAT020 DAT022 DAT023 DAT025
    DAT028 DAT029 DAT030 DAT031 DAT047 DAT048
"""
"""Who reads what the batches hold."""


@functools.cache
def healthy():
    return healthy_lora().run


@every_rule
def test_nothing_is_found_in_a_healthy_run(rule):
    assert found_by(rule, healthy()) == ()


@every_rule
def test_a_healthy_run_leaves_open_only_what_was_not_measured(rule):
    left = [each.code for each in report_by(rule, healthy()).not_checked]
    assert left == [rule.code] * (rule.code in NOT_MEASURED)


@pytest.mark.parametrize("code", OF_BATCHES.split())
def test_a_known_model_without_a_batch_is_not_checked(code):
    report = report_by(find_rule(code), RunBuilder().facts(model={"class": "L"}).run)
    assert report.findings == ()
    assert [each.code for each in report.not_checked] == [code]


@pytest.mark.parametrize("code", ["DAT002", "DAT004", "DAT005", "DAT029"])
def test_nothing_is_found_in_batches_with_nothing_odd(code):
    assert odd.found(find_rule(code)) == ()
