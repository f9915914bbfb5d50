"""MOD003: how much of a model in 4 bits is not."""

import pytest

from ftlab.rules.model.less_quantised_than_asked import LessQuantisedThanAsked
from tests.runs import RunBuilder, found_by


def run(left, elements=100, skipped=None, asked=True):
    config = {"load_in_4bit": True, "llm_int8_skip_modules": skipped} if asked else {}
    facts = {"asked": config, "unquantised": left, "elements": elements}
    builder = RunBuilder().facts(model={"class": "Toy", "four_bit": facts}).step()
    return found_by(LessQuantisedThanAsked(), builder.run)


@pytest.mark.parametrize(("count", "found"), [(100, 0), (101, 1)])
def test_takes_more_than_a_tenth(count, found):
    assert len(run({"layers.0.experts.up": count}, elements=900)) == found


def test_names_the_largest_first():
    (found,) = run({"layers.0.small": 50, "layers.0.experts.up": 500})
    assert str(found.place) == "param layers.0.experts.up"
    assert found.evidence["share"] == pytest.approx(550 / 650)


def test_what_is_left_out_by_name_does_not_count():
    assert run({"layers.0.o_proj.weight": 500}, skipped=["o_proj"]) == ()
    assert run({"layers.0.o_proj.weight": 500}, skipped=[r"layers\.[01]\."]) == ()
    assert len(run({"layers.0.o_proj.weight": 500}, skipped=["o_pro"])) == 1


def test_a_model_not_asked_for_in_4_bits_does_not_concern_it():
    assert run({"layers.0.w": 500}, asked=False) == ()


def test_names_excuse_nothing_where_no_weight_is_in_4_bits():
    (found,) = run({"model.layers.0.w": 500}, elements=0, skipped=["model"])
    assert "No layer is in 4 bits" in found.cause
    assert str(found.places[-1]) == "config llm_int8_skip_modules"
