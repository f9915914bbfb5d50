"""MOD001: packed 4-bit weights that are trained, merged into or saved."""

import pytest

from ftlab.records.names import NameRecord
from ftlab.rules.model.weights_packed_for_inference import WeightsPackedForInference
from tests.runs import RunBuilder, found_by, only

CLEAN = {"layers": 1, "packed": [], "mixed_up": [], "packable": []}


def run(four_bit, *used):
    builder = RunBuilder().facts(model={"class": "Toy", "four_bit": four_bit})
    for row, what in enumerate(used):
        meta = {"module": "layers.0.q", "what": what}
        name = f"layers.0.q {what}"
        builder.run.append(
            NameRecord(
                90 + row, "four_bit", name, "module", "", since_step=2, meta=meta
            )
        )
    builder.steps(4)
    return found_by(WeightsPackedForInference(), builder.run)


def test_is_quiet_where_nothing_is_packed():
    assert run(CLEAN) == ()


def test_does_not_apply_without_4_bit_weights():
    assert run({}) == ()


@pytest.mark.parametrize(
    ("what", "place"),
    [
        ("trained", "op gemv_4bit"),
        ("merged", "call merge"),
        ("saved", "call state_dict"),
    ],
)
def test_names_the_layer_and_what_was_done_with_it(what, place):
    found = only(run(CLEAN, what), "error", "module layers.0.q", steps=(2, 3))
    assert place in map(str, found.places)


def test_scales_in_the_wrong_order_are_found_in_the_facts():
    only(run(CLEAN | {"mixed_up": ["layers.0.q"]}), reason="saved")


def test_what_an_evaluation_would_pack_is_information():
    only(run(CLEAN | {"packable": ["layers.0.q"]}), "info")
