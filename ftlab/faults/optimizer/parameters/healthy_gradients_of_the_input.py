"""After training somebody asks which tokens mattered, by the gradient of the embedding.

All parameters are made trainable for it, the base below the adapter as well; there are
backwards, and no step.
"""

from ftlab.faults.builders import Case, Healthy, adamw, batches, loop_case, lora


def build() -> Case:
    """Build LoRA, train it, and take gradients of everything in the end."""
    model = lora()
    optimizer, made = adamw(model), batches()

    def explain() -> None:
        model.requires_grad_(True)
        for batch in made:
            model(**batch).loss.backward()
            model.zero_grad()

    return loop_case(model, optimizer, made, afterwards=explain)


HEALTHY = Healthy(
    "after the last step all of the base is trainable and has gradients",
    looks_like=("OPT002", "ADP016", "GRD003"),
    steps=20,
)
