"""The rule ADP015, task-head-frozen.

## What it does
Finds a head for classes, values or spans that is frozen and still random, in a model
with adapters, with or without an adapter of its own.

## Why is this bad?
The head is new: no checkpoint has it. PEFT freezes the base with everything in it, and
keeps the head trainable only if it knows the task. A frozen head stays a random
projection, the adapter must bend the whole model towards it, and since it is not saved
either, a different random one is there after loading.

## Evidence
Linear layers outside of the numbered blocks that map to fewer values than they get and
are no output embeddings, of which no parameter is trainable, and whose weights look
freshly initialised: mean 0, and the standard deviation that the model's
`initializer_range` (or `nn.Linear` itself, a uniform distribution) draws with, both
within 4 standard errors (std: s / sqrt(2 n), plus 1 % for 16-bit rounding), with a bias
of exactly 0 where the model's own initialisation is compared. Measured: 200 fresh heads
of 2 to 64 classes, half of them in bf16, were at most 3.5 standard errors off; a head
that was trained with a learning rate of 1e-3 was 18 off after 100 steps and 59 after
300.
*frozen*: it stands alone. *adapted*: an adapter stands on it, because target_modules
names it: what is learned goes with the random weights under it, and these are not in
the adapter's file. Measured on a tiny Llama of width 64 with 3 classes, 40 steps at
5e-3: on a head that was drawn with another seed, the logits of the loaded model are off
by 10 % of their norm. Of normed states of width 4096 a head drawn with 0.02 gives
logits of deviation 0.02 x 64 = 1.3, and all of that is exchanged.
By hand: `model.print_trainable_parameters()`, and `[n for n, p in
model.named_parameters() if "score" in n and p.requires_grad]`.

## What to try
1. `LoraConfig(task_type="SEQ_CLS", ...)`; `TOKEN_CLS`, `QUESTION_ANS` likewise.
2. `modules_to_save=["score"]` with the name that the head has in this model.
3. *adapted*: remove the head from target_modules, and name it in modules_to_save.
4. Do not use `requires_grad_(True)` by hand: the head would be trained but not saved.
5. `modules_to_save=names.append("score")` passes None: append returns nothing.

## Known problems
A frozen head that was trained before is not reported. With few weights (2 classes) the
interval is wide, and a head that was hardly trained looks fresh (300 steps with 1e-4:
1.5 standard errors).

## Known myths
"A wrong task_type is silent": measured on peft 0.21.2, CAUSAL_LM on a classifier
raises; only a missing one is silent.

## References
- huggingface/peft#577 (`modules_to_save=list.append(...)`), #2367, #756, #1070
- 2U1/Qwen-VL-Series-Finetune#208
"""

from ftlab.rules.reading.wiring import (
    Described,
    adapters,
    is_trained,
    needs_wiring,
    steps_of,
    trainable_tensors,
    wiring,
)
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import number


class TaskHeadFrozen(Rule):
    """Finds new heads that are not trained."""

    code = "ADP015"
    status = "stable"
    requires = needs_wiring

    def check(self, run: Run) -> Results:
        """Yield one finding per head."""
        learns = any(trainable_tensors(described) for _, described, _ in adapters(run))
        if not learns or not is_trained(run):
            return
        for head in wiring(run).get("heads") or ():
            if head.get("fresh"):
                yield self._finding(run, head)

    def _finding(self, run: Run, head: Described) -> Finding:
        types = {str(config.get("task_type")) for _, _, config in adapters(run)}
        said, adapted = ", ".join(sorted(types)), bool(head.get("adapted"))
        return self.warning(
            f"step {steps_of(run)[0]}: {head['module']} {tuple(head['shape'])} is "
            f"frozen{' under an adapter' if adapted else ''} and still random: "
            f"deviation {number(head['std'])}, initialized with "
            f"{number(head['expected_std'])}; task_type is {said}",
            cause="An adapter is trained on random weights that are not saved: after "
            "loading it is on different ones."
            if adapted
            else "PEFT freezes the whole base; without a task_type or an entry in "
            "modules_to_save, the new head is frozen too, and not saved.",
            fix='LoraConfig(task_type="SEQ_CLS", ...), or '
            f'modules_to_save=["{head["module"].rpartition(".")[2]}"].',
            places=[
                Place("param", head["weight"]),
                *([Place("config", "target_modules")] * adapted),
                Place("config", "task_type"),
                Place("config", "modules_to_save"),
            ],
            steps=steps_of(run),
            reason="adapted" if adapted else "frozen",
            evidence={
                "std": head["std"],
                "drawn_with": head["expected_std"],
                "threshold": "4 standard errors",
            },
            healthy="a new head is in modules_to_save and trainable",
        )
