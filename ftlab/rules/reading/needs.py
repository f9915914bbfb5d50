"""What several rules need of a run, and how it is recorded next time."""

from ftlab.rules.rule import needs_column, needs_facts, needs_step_values

needs_optimizers = needs_facts(
    "optimizers",
    "the optimizer's parameter groups",
    "pass the optimizer: ftlab.watch(model, optimizer)",
)
needs_rates = needs_step_values(
    "lr",
    "the learning rate of each step",
    "pass the optimizer: ftlab.watch(model, optimizer)",
)
needs_losses = needs_step_values(
    "loss",
    "the loss of each step",
    "watch a loop that calls backward on the loss while ftlab is attached",
)
needs_gradients = needs_column(
    "has_grad", "whether each trainable tensor had a gradient"
)
needs_model_facts = needs_facts(
    "model", "facts of the model", "pass the model: ftlab.watch(model)"
)
