"""The rule ENV001, argument-without-effect.

## What it does
Finds Trainer arguments that were set but that nothing reads, because another argument,
the loss or the optimizer overrides them.

## Why is this bad?
The configuration says one thing, and the run does another. Nothing is raised, and
trackers log the setting as if it had been used: two runs that differ only in it are the
same run.

## Evidence
Only arguments that differ from the default of their class are checked. No threshold.
- *constant-schedule*: a warm-up, or lr_scheduler_kwargs, with a schedule that takes
  none; the actual schedule has none. Measured with transformers 5.23 and 4.57:
  `lr_scheduler_type="constant", warmup_steps=5` gives the full rate from the first step
  on, `constant_with_warmup` accepts any lr_scheduler_kwargs silently.
- *own-loss*: label_smoothing_factor beside compute_loss_func, or beside a compute_loss
  whose code calls neither the Trainer's nor the smoother. Measured on both versions:
  losses with 0.3 and with 0 are equal to the last bit.
- *args-not-read*: a pair of optim_args whose key the optimizer has with another value.
  Measured: `optim="sgd", optim_args="momentum=0.9"` gives momentum 0 on 4.57 (0.9 on
  5.23), `beta1=0.5` of AdamW gives 0.9 on both.
- *no-such-setting* (info): adam_beta1, adam_beta2, adam_epsilon of an optimizer of
  torch, transformers or bitsandbytes that has none.
- *shorter-or-longer* (info): num_train_epochs next to max_steps, which wins. A short
  trial is set up like this on purpose.
- *switched-off* (info): an interval, a limit or kwargs of a feature that is off, and a
  metric_for_best_model that nothing uses.
By hand: `trainer.lr_scheduler.lr_lambdas`, `trainer.optimizer.param_groups[0]` after
one step; `trainer.compute_loss_func`.

## What to try
1. "constant_with_warmup" instead of "constant" with a warm-up.
2. Smooth in your own loss: `cross_entropy(..., label_smoothing=0.1)`.
3. Pass your own optimizer, or `optimizer_cls_and_kwargs=`, for values that optim_args
   cannot set.
4. Remove the argument.

## Known problems
An argument that a custom callback reads is reported too. Arguments that
hyperparameter_search has chosen are info: a search combines them all.

## References
- transformers, get_scheduler, Trainer.compute_loss
- huggingface/transformers#21317, #44203 (optim_args)
"""

from ftlab.rules.reading.asked import made, needs_trainer
from ftlab.rules.reading.saving import span
from ftlab.rules.reasons.idle_settings import Idle, idle_settings
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity

_WHY = {
    "constant-schedule": (
        "The schedule {value!r} has no settings: transformers creates it without them.",
        'Choose a schedule that has them, such as "constant_with_warmup" for a '
        "warm-up, or remove {name}.",
    ),
    "own-loss": (
        "The Trainer smooths labels in its own compute_loss; {value} is used instead.",
        "Smooth in your loss, cross_entropy(..., label_smoothing=...), or remove it.",
    ),
    "args-not-read": (
        "The Trainer does not pass it to this optimizer, which has {value!r}.",
        "Trainer(optimizer_cls_and_kwargs=(cls, {{...}})), or the argument's own name "
        "(adam_beta1, ...).",
    ),
    "no-such-setting": (
        "{value} has no such setting.",
        "Remove {name}, or choose an optimizer that has it.",
    ),
    "shorter-or-longer": (
        "max_steps={value} ends the training; epochs count only where it is -1.",
        "Remove one of the two.",
    ),
    "switched-off": (
        "{by}={value!r} switches its feature off.",
        "Set {by} too, or remove {name}.",
    ),
}
"""By reason: the cause and the fix."""


class ArgumentWithoutEffect(Rule):
    """Finds arguments that were set and that nothing reads."""

    code = "ENV001"
    layer = "optimizer"
    requires = needs_trainer

    def check(self, run: Run) -> Results:
        """Yield one finding per argument."""
        for each in idle_settings(run):
            yield self._finding(run, each)

    def _finding(self, run: Run, idle: Idle) -> Finding:
        by, value = idle.by
        cause, fix = _WHY[idle.reason]
        words = {"name": idle.name, "by": by, "value": value}
        searched = made(run).get("searched") is True
        also = [Place("config", by)] if by.isidentifier() else []
        return self.finding(
            Severity.INFO if searched else idle.severity,
            f"{idle.name}={str(idle.value)[:80]} has no effect with {by}={value}",
            cause=cause.format(**words),
            fix=fix.format(**words),
            places=[Place("config", idle.name), *also],
            steps=span(run),
            reason=idle.reason,
            evidence={"asked": str(idle.value)[:80]},
            healthy="every argument that was set takes effect",
        )
