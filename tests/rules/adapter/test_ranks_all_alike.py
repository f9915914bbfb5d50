"""ADP051."""

from ftlab.rules.adapter.ranks_all_alike import RanksAllAlike
from tests.runs import RunBuilder, found_by, only, places


def check(*steps, r=8):
    builder = RunBuilder()
    for index in range(len(steps[0])):
        builder.pair(f"layers.{index}", "default", r=r)
    for ranks in steps:
        builder.step(None, {"effective_rank": list(ranks)})
    return found_by(RanksAllAlike(), builder.run)


def test_all_pairs_of_rank_one_at_every_step():
    finding = only(check([0, 0], [1, 1], [1, 1.0005], [1, 1]), "warning")
    assert (finding.first_step, finding.last_step) == (1, 3)
    assert places(finding)[-1] == "module model.layers.1.q"
    assert "though r is 8" in finding.message


def test_one_pair_or_one_step_of_another_rank_is_enough_to_be_fine():
    assert check([1, 1], [1, 3], [1, 1], [1, 1]) == ()
    assert check([1, 1.01], [1, 1], [1, 1]) == ()


def test_the_first_updates_and_a_rank_of_one_prove_nothing():
    assert check([0, 0], [1, 1], [1, 1]) == ()
    assert check([1, 1], [1, 1], [1, 1], r=1) == ()


def test_pairs_that_add_nothing_are_another_matter():
    assert check([0, 0], [0, 0], [0, 0]) == ()
    assert len(check([0, 1], [0, 1], [0, 1])) == 1


def energies(*beyond, r=8, steps=12):
    """Make two pairs with these shares beyond ranks 1, 2 and 4 at each step."""
    builder = RunBuilder()
    for index in range(2):
        builder.pair(f"layers.{index}", "default", r=r)
    columns = {f"beyond_{2**i}": share for i, share in enumerate(beyond)}
    for _ in range(steps):
        builder.step(
            None, {"ba_l2": 1.0, "effective_rank": 1.9, "rank_90": 2.0} | columns
        )
    return found_by(RanksAllAlike(), builder.run)


def test_copies_of_two_rows_have_rank_two():
    (finding,) = energies(0.4, 1e-8, 1e-9)
    assert "has rank 2, though r is 8" in finding.message
    assert "copies of 2" in finding.cause


def test_what_is_beyond_a_quarter_of_r_is_in_use():
    assert energies(0.4, 2e-7, 1e-9) == ()
    assert energies(0.4, 1e-8, 1e-9, r=7) == ()


def test_each_step_may_have_added_a_direction():
    assert energies(0.4, 1e-8, 1e-9, steps=8) == ()
    assert len(energies(0.4, 1e-8, 1e-9, steps=9)) == 1
