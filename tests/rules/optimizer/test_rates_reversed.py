"""OPT018."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.optimizer.rates_reversed import RatesReversed
from tests.runs import RunBuilder, checker, only

check = checker(RatesReversed())


def blocks(*rates, schedule=1.0, list_="layers"):
    """Make a run whose groups are the blocks of one list."""
    builder = RunBuilder()
    for number in range(len(rates)):
        name, layer = f"m.{list_}.{number}.w", f"{list_}.{number}"
        builder.tensor(name, layer, meta={"group": number})
    groups = [{"lr": 0.0, "initial_lr": rate} for rate in rates]
    builder.facts(optimizers=({"class": "AdamW", "groups": groups},))
    for factor in (0.0, schedule):
        builder.step(lr=tuple(rate * factor for rate in rates))
    return builder


def factors(first, second, *, zero=1, norms=(1.0, 0.0)):
    """Make a run of one pair whose factors are in groups of their own."""
    builder = RunBuilder()
    for group, role in enumerate(("lora_A", "lora_B")):
        meta = {"role": role, "adapter": "x", "module": "m.q", "group": group}
        builder.tensor(f"m.q.{role}.x.weight", "layers.0", meta=meta)
    groups = [{"lr": first}, {"lr": second}]
    builder.facts(
        optimizers=({"class": "AdamW", "groups": groups},),
        model={"start": {"adapters": {"x": {"pairs": 1, "zero_b": zero}}}},
    )
    return builder.step({"weight_l2": norms}, lr=(first, second))


def test_is_quiet_on_a_healthy_run():
    assert check(blocks(1.0, 2.0, 4.0, 8.0)) == ()


@pytest.mark.parametrize("schedule", [0.0, 0.1])
def test_rates_that_fall_towards_the_head(schedule):
    finding = only(check(blocks(8.0, 4.0, 2.0, 1.0, schedule=schedule)), "warning")
    assert finding.evidence["reason"] == "towards-the-head"
    assert finding.place == Place("optimizer", "param_groups[3]")
    assert "from the first of layers to the last, by 0.5 each: " in finding.message


@pytest.mark.parametrize(
    "rates",
    [
        (4.0, 2.0, 1.0),  # three may be stages
        (8.0, 4.0, 2.0, 1.9),  # one by one
        (8.0, 4.0, 2.0, 0.0),  # frozen
        (8.0, 4.0, 2.0, 4.0),
        (1.0, 1.0, 1.0, 1.0),
    ],
)
def test_other_rates_by_block_are_left_alone(rates):
    assert check(blocks(*rates)) == ()


def test_blocks_in_a_row_may_share_a_rate():
    assert len(check(blocks(8.0, 8.0, 4.0, 4.0, 2.0, 2.0, 1.0, 1.0))) == 1


def test_parts_outside_of_lists_are_no_series():
    builder = blocks(8.0, 4.0, 2.0, 1.0, list_="part")
    assert len(check(builder)) == 1
    builder = RunBuilder()
    for group, part in enumerate(("embed", "body", "norm", "head")):
        builder.tensor(f"{part}.w", part, meta={"group": group})
    groups = [{"lr": 1 / 2**group} for group in range(4)]
    builder.facts(optimizers=({"class": "AdamW", "groups": groups},))
    assert check(builder.step(lr=(1.0, 0.5, 0.25, 0.125))) == ()


def test_a_first_factor_that_is_faster():
    finding = only(check(factors(16e-4, 1e-4)), place="optimizer param_groups[1]")
    assert finding.evidence["reason"] == "first-factor-faster"
    assert "lora_A is 16 times that of lora_B" in finding.message


@pytest.mark.parametrize(
    "builder",
    [
        factors(1e-4, 16e-4),
        factors(1.9e-4, 1e-4),
        factors(1e-4, 0.0),
        factors(16e-4, 1e-4, zero=0),  # trained before
        factors(16e-4, 1e-4, norms=(0.0, 1.0)),  # changed places
    ],
)
def test_other_rates_of_factors_are_left_alone(builder):
    assert check(builder) == ()
