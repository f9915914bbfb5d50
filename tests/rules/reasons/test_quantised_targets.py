"""Targets that were chosen by a class which quantised layers have not."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.reasons.quantised_targets import only_plain
from tests.runs import RunBuilder, only

PARTS = {"lora_A": {"tensors": 1}, "lora_B": {"tensors": 1}}


def some(*names):
    return {"count": len(names), "names": list(names)}


def cuts(checkpointed=True, outside=None, layers=None, parts=PARTS, **sides):
    plain = sides.get("plain_adapted", ["lm_head"])
    found = {
        "bare": some(*sides.get("bare", ["layers.0.q", "layers.0.k"])),
        "adapted": some(*sides.get("adapted", [])),
        "plain_bare": some(*sides.get("plain_bare", [])),
        "plain_adapted": some(*plain),
    }
    described = {"layers": len(plain) if layers is None else layers, "parts": parts}
    wired = {"quantised": found, "outside": outside or {}}
    run = RunBuilder().facts(
        model={"adapters": wired, "gradient_checkpointing": checkpointed}
    )
    return list(only_plain(run.run, described))


def test_a_head_alone_behind_checkpointed_blocks_is_a_warning():
    cut = only(cuts(), "warning")
    assert cut.count == 2
    assert cut.names == ("layers.0.q", "layers.0.k")
    assert "lm_head" in cut.words
    assert "checkpointed" in cut.cause


def test_a_head_alone_may_be_meant():
    cut = only(cuts(checkpointed=False), "info")
    assert "checkpointed" not in cut.cause


def test_what_learns_before_the_head_is_a_reason_for_checkpoints():
    only(cuts(outside={"others": some("embed.weight")}), "info")


def test_all_plain_layers_within_and_outside_of_blocks_are_a_class():
    (cut,) = cuts(checkpointed=False, plain_adapted=["layers.0.gate", "lm_head"])
    assert cut.severity is Severity.WARNING
    assert "(gate and lm_head)" in cut.words


@pytest.mark.parametrize(
    "change",
    [
        {"bare": []},
        {"adapted": ["layers.0.v"]},
        {"plain_bare": ["score"]},
        {"plain_adapted": []},
        {"layers": 2},
        {"parts": PARTS | {"modules_to_save": {"tensors": 1}}},
    ],
    ids=["floating point", "QLoRA", "a choice", "none", "embedding too", "kept"],
)
def test_other_choices_are_left_alone(change):
    assert cuts(**change) == []
