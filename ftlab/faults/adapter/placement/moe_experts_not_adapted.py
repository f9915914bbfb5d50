"""The experts were asked for by names that a dense model has.

transformers keeps the experts of a layer as three-dimensional parameters. No module is
called ``gate_proj`` there; q_proj matches, so PEFT stays quiet.

Fix: ``target_parameters=["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]``.
Source: unslothai/unsloth#6936, #11014, NVIDIA-NeMo/Automodel#1151.
"""

from ftlab.faults.builders import Case, Fault, fused_experts, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a Mixtral with LoRA."""
    names = ["q_proj", "v_proj"]
    experts = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
    if fixed:
        model = lora(fused_experts(), target_modules=names, target_parameters=experts)
    else:
        dense = ["gate_proj", "up_proj", "down_proj"]
        model = lora(fused_experts(), target_modules=names + dense)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "fine-tuning a mixture of experts learns little; few parameters are trainable",
    code="ADP013",
    places=("config target_modules",),
    evident=-1,
)
