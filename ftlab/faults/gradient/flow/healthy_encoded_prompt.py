"""P-tuning: a small network computes the prompt from embeddings of its own."""

from ftlab.faults.builders import Case, Healthy, gpt2, plain_case


def build() -> Case:
    """Build P-tuning on a GPT-2."""
    from peft import PromptEncoderConfig, get_peft_model

    config = PromptEncoderConfig(
        num_virtual_tokens=4, encoder_hidden_size=32, task_type="CAUSAL_LM"
    )
    model = get_peft_model(gpt2(), config)
    return plain_case(model, lr=1e-2)


HEALTHY = Healthy(
    "the loss hardly falls: a prompt can do little in a random model",
    looks_like=("GRD003", "GRD001"),
)
