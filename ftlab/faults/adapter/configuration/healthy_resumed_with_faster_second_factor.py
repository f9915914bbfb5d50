"""A Trainer with LoRA+ resumes: half of its groups have a rate of their own.

One callback halves all rates where the run goes on, in the schedule and in the groups.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, lora, resumed

SAVED, RATE = 8, 2e-4


def build() -> Case:
    """Build a Trainer that is going to resume at step 8 with half the rates."""
    first = {"learning_rate": 2 * RATE, "kind": _kind()}
    case = resumed(lora, SAVED, first, learning_rate=RATE, max_steps=16, kind=_kind())
    case.trainer.add_callback(_halving())
    return case


def _kind() -> Any:
    from transformers import Trainer

    class Faster(Trainer):
        """Gives every B sixteen times the rate."""

        optimizer: Any

        def create_optimizer(self, model: Any = None) -> Any:
            """Put A and B into groups of their own."""
            if self.optimizer is None:
                from torch.optim import AdamW

                rate, named = self.args.learning_rate, self.model.named_parameters()
                own = [(n, p) for n, p in named if p.requires_grad]
                slow = [p for n, p in own if "lora_B" not in n]
                fast = {"params": [p for n, p in own if "lora_B" in n], "lr": 16 * rate}
                groups: list[Any] = [{"params": slow}, fast]
                self.optimizer = AdamW(groups, lr=rate, weight_decay=0.0)
            return self.optimizer

    return Faster


def _halving() -> Any:
    from transformers import TrainerCallback

    class Halve(TrainerCallback):
        """Sets the rates that the new arguments ask for."""

        def on_train_begin(
            self, args: Any, state: Any, control: Any, **given: Any
        ) -> None:
            schedule = given["lr_scheduler"]
            schedule.base_lrs = [rate / 2 for rate in schedule.base_lrs]
            for group in given["optimizer"].param_groups:
                group["lr"] /= 2

    return Halve()


HEALTHY = Healthy(
    "a resumed Trainer has other rates than its arguments",
    looks_like=("ADP027",),
    steps=8,
)
