import pytest

from ftlab.records.schedule_lengths import total_of, warmup_of

RISE = {"class": "LinearLR", "start_factor": 0.1, "end_factor": 1.0, "total_iters": 5}
FALL = {"class": "CosineAnnealingLR", "T_max": 20}
CASES = [
    ("LambdaLR", {"num_warmup_steps": 3, "num_training_steps": 9}, 3, 9),
    ("SequentialLR", {"schedulers": [RISE, FALL], "milestones": [5]}, 5, 25),
    ("SequentialLR", {"schedulers": [FALL, FALL], "milestones": [20]}, 0, 40),
    ("OneCycleLR", {"phases": [{"end_step": 30.0}], "total_steps": 100}, 30, 100),
    ("CosineAnnealingLR", {"T_max": 20}, 0, 20),
    ("LinearLR", RISE, 0, 0),
    ("ConstantLR", {"total_iters": 5}, 0, 0),
    ("ExponentialLR", {"gamma": 0.9}, 0, 0),
]


@pytest.mark.parametrize(("kind", "asked", "warmup", "total"), CASES)
def test_arguments_say_how_long_a_schedule_rises_and_is(kind, asked, warmup, total):
    assert (warmup_of(kind, asked)[0], total_of(kind, asked)[0]) == (warmup, total)


def test_warmup_stable_decay_is_as_long_as_its_parts():
    parts = {"num_warmup_steps": 2, "num_stable_steps": 5, "num_decay_steps": 3}
    assert total_of("LambdaLR", parts) == (10.0, "num_decay_steps")
