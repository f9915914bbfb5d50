"""LoKr: a product of Kronecker in place of B A; one factor starts at 0."""

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, llama
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build LoKr on the attention's projections."""
    from peft import LoKrConfig, get_peft_model

    config = LoKrConfig(
        r=4, alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"
    )
    model = get_peft_model(llama(), config)
    optimizer = adamw(model, lr=5e-3)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


HEALTHY = Healthy(
    "kronecker-factors",
    "a factor is 0 at first, so the other ones have no gradient but 0",
    looks_like=("ADP001", "GRD003"),
    builder=build,
)
