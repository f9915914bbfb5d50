"""What was asked for is what differs from the defaults of the arguments' class."""

from dataclasses import dataclass, field

from transformers import TrainingArguments

from ftlab.session.integrations.trainer_arguments import asked_settings


def test_only_what_differs_from_its_default_was_asked_for(tmp_path):
    args = TrainingArguments(
        str(tmp_path),
        use_cpu=True,
        warmup_steps=4,
        lr_scheduler_type="cosine",
        learning_rate=5e-5,
        lr_scheduler_kwargs={"num_cycles": 2},
    )
    assert asked_settings(args) == {
        "warmup_steps": 4,
        "lr_scheduler_type": "cosine",
        "lr_scheduler_kwargs": {"num_cycles": 2},
    }


def test_a_class_has_defaults_of_its_own():
    @dataclass
    class Own:
        learning_rate: float = 1.0
        optim_args: list = field(default_factory=lambda: ["a"])
        unknown: int = 3

    assert asked_settings(Own()) == {}
    assert asked_settings(Own(learning_rate=5e-5)) == {"learning_rate": 5e-5}
    assert asked_settings(object()) == {}
