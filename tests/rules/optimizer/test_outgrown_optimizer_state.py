"""OPT006."""

from ftlab.rules.optimizer.outgrown_optimizer_state import OutgrownOptimizerState
from tests.runs import RunBuilder, only, report_by


def report(*, later, steps=1):
    builder = RunBuilder()
    builder.facts(step=0, optimizers=({"misfits": [] if later else ["m.w"]},))
    builder.steps(3)
    if later:
        builder.facts(step=2, optimizers=({"misfits": ["m.w"]},))
    builder.steps(steps if later else 0)
    return report_by(OutgrownOptimizerState(), builder.run)


def test_names_what_got_another_shape_in_the_run():
    finding = only(report(later=True).findings, place="param m.w")
    assert finding.first_step == 3


def test_a_resize_after_training_is_left_alone():
    assert report(later=True, steps=0).findings == ()


def test_a_state_that_was_loaded_so_is_another_rule_s():
    assert report(later=False).findings == ()
