"""LLaMA-Adapter: a prompt for the attention of the upper blocks, behind a gate at 0.

The gate lets nothing through at first, so the prompt has no gradient before step 1.
"""

from ftlab.faults.builders import Case, Healthy, llama, plain_case, set_seed


def build() -> Case:
    """Build prompts of six vectors in two of three blocks."""
    from peft import AdaptionPromptConfig, get_peft_model

    set_seed(1)
    config = AdaptionPromptConfig(
        adapter_len=6, adapter_layers=2, target_modules="self_attn"
    )
    model = get_peft_model(llama(num_hidden_layers=3), config)
    return plain_case(model, lr=2e-2)


HEALTHY = Healthy(
    "the target is a module of attention, no linear layer, and a gate is 0 at first",
    looks_like=("ADP012", "ADP039", "GRD003"),
)
