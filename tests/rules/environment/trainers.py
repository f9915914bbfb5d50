"""Runs of a Trainer as rules see them: facts alone."""

from tests.runs import RunBuilder, found_by

MADE = {
    "own_evaluation": False,
    "evaluates_at_end": False,
    "patience": [],
    "rows": 64,
    "batch_size": 8,
    "smoothing": "",
    "own_rates": False,
}
ADAMW = {"class": "AdamW", "module": "torch.optim.adamw"}
LINEAR = {
    "class": "LambdaLR",
    "asked": {"schedule": "_get_linear_schedule_with_warmup_lr_lambda"},
}


def run_of(step=0, optimizers=(), schedulers=(LINEAR,), **training):
    told = {
        "trainer_class": "Trainer",
        "args": {"eval_strategy": "no"},
        "asked": {},
        "made": {},
        "loader": {"batches": 8, "batch_size": 8},
        "gradient_accumulation_steps": 1,
        "max_steps": 40,
        "world_size": 1,
    }
    told |= training
    told["made"] = MADE | told["made"]
    builder = RunBuilder().facts(
        step=step,
        model={"class": "LlavaForConditionalGeneration"},
        optimizers=tuple(optimizers),
        schedulers=tuple(schedulers),
        training=told,
    )
    return builder.run


def found(rule, **parts):
    return found_by(rule, run_of(**parts))
