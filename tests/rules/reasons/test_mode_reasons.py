"""Why parts of a model are trained in evaluation mode."""

import pytest

from ftlab.records.names import NameRecord
from ftlab.rules.reasons.mode_reasons import Signs, why_off

OFF = {"dropouts_off": 1, "statistics_off": 0, "checkpointing_off": 0}
NO_SIGN = Signs(switched=False, put_back=False)


def kind(total, signs=NO_SIGN, **meta):
    modules = [NameRecord(0, "modes", "m", "module", "", meta=meta)]
    return why_off(OFF | total, modules, signs).kind


@pytest.mark.parametrize(
    ("total", "reason"),
    [
        ({}, "from-the-start"),
        ({"checkpointing_off": 1}, "checkpointing"),
        ({"dropouts_off": 0, "statistics_off": 1}, "statistics"),
    ],
)
def test_without_a_sign_it_is_what_is_off(total, reason):
    assert kind(total) == reason


def test_what_was_seen_comes_before_what_follows_from_it():
    both = Signs(switched=True, put_back=True)
    adapter = {"adapter_off": 2, "adapter_on": 0, "carrier_on": "PeftModel"}
    assert kind({}, both, **adapter) == "switched"
    assert kind({}, both._replace(switched=False), **adapter) == "put-back"
    assert kind({}, **adapter) == "base-alone"
