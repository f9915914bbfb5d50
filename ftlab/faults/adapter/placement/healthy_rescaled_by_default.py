"""IA3 on a T5 with PEFT's own targets, an encoder and a decoder."""

from ftlab.faults.builders import Case, Healthy, plain_case, t5


def build() -> Case:
    """Build IA3 with nothing but a task."""
    from peft import IA3Config, get_peft_model

    model = get_peft_model(t5(), IA3Config(task_type="SEQ_2_SEQ_LM"))
    return plain_case(model, lr=1e-2)


HEALTHY = Healthy(
    "vectors are trained on both sides of the layers that they are put on",
    looks_like=("ADP012", "ADP032"),
    steps=60,
)
