"""AdaLoRA: ranks are taken from layers that need them less, up to the last one.

The product has a third factor; what is pruned becomes exactly 0, on purpose.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, adamw, batches, llama
from ftlab.faults.builders.trainers import STEPS


def build() -> Case:
    """Build AdaLoRA, which the loop has to tell of each step."""
    from peft import AdaLoraConfig, get_peft_model

    config = AdaLoraConfig(
        init_r=8,
        target_r=2,
        tinit=20,
        tfinal=60,
        deltaT=5,
        total_step=STEPS,
        lora_alpha=16,
        target_modules=["q_proj", "v_proj"],
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(llama(), config)
    optimizer = adamw(model, lr=5e-3)

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        model.base_model.update_and_allocate(len(case.losses) + 1)
        optimizer.zero_grad()
        return float(loss.detach())

    case = Case(model, optimizer, batches(), step)
    return case


HEALTHY = Healthy(
    "parts of the adapter become exactly 0 during training",
    looks_like=("ADP001", "ADP002", "GRD003"),
)
