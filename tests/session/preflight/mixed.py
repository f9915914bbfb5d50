"""A model of two precisions, as k-bit preparation or a new head make it."""

import torch

from ftlab.faults.builders.tiny import batches, llama, lora, trainable


class InFloat32(torch.nn.Module):
    """A norm that computes and answers in float32."""

    def __init__(self, norm):
        super().__init__()
        self.norm = norm.float()

    def forward(self, x):
        return self.norm(x.float())


def mixed_loop():
    """Return model, optimizer, batches and step of a loop without autocast."""
    model = llama().to(torch.bfloat16)
    model.model.norm = InFloat32(model.model.norm)
    model = lora(model)
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-3)

    def step(batch):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        return loss

    given = {"model": model, "optimizer": optimizer, "batches": batches(2)}
    return given, step
