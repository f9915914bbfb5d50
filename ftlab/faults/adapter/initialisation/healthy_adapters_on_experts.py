"""LoRA on the fused weights of a mixture of experts.

The experts are one parameter, no layers: PEFT adapts it by name
(``target_parameters``), and experts without a token get no update.
"""

from ftlab.faults.builders import Case, Healthy, batches, fused_experts, lora
from ftlab.faults.builders.loops import plain_case


def build() -> Case:
    """Build LoRA on the experts of a Mixtral, with its routers' loss."""
    model = fused_experts(output_router_logits=True)
    experts = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
    model = lora(model, target_modules=[], target_parameters=experts, r=2)
    rows = batches(20, size=1, length=8)
    return plain_case(model, lr=5e-3, rows=rows)


HEALTHY = Healthy(
    "most experts get no token in a step",
    looks_like=("ADP001", "GRD003", "GRD001"),
)
