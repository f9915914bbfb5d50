"""The rule MOD006, evaluation-mode-in-training.

## What it does
Finds models, and blocks of models, that are trained in evaluation mode although they
contain modules that depend on the mode.

## Why is this bad?
Dropout does nothing, the model overfits more than planned, and gradient checkpointing
of transformers is off too: memory jumps after the first evaluation. Where only some
blocks are affected, parts of the model are trained differently.

## Evidence
`training` of every module whose output depends on it (dropout above 0, batch norm,
checkpointed blocks), at training forwards with a graph, from two steps in a row on.
Modules none of whose parameters got a gradient are ignored (a frozen tower, a teacher),
and so is a single dropout that is off while its parent is not, unless the same dropout
of other blocks is on. There is no threshold.
- *switched*: parts that were on at the step before are off. This raises an alarm.
- *put-back*: `train()` was called on the model, or the PeftModel in it, before the
  forward of two steps at least and of half of them, and all dropouts of the trained
  adapter were off at the forward. An alarm: mode and configuration require them.
- *base-alone*: the PeftModel is in training mode, the model in it is not, and with it
  all dropouts of the trained adapter are off. An alarm, also from the start:
  `get_peft_model` leaves an adapter's own dropouts on, whatever mode the base is in, so
  `eval()` must have been called on the base, which contains the adapter.
- *checkpointing*: checkpointing is switched on, and was off from the start. It only
  costs memory, and `prepare_model_for_kbit_training` switches it on by default: info.
- *from-the-start*: it was off when the run began, and none of this is known. This is
  info: training without dropout by `model.eval()` is common, and from_pretrained leaves
  the model like this if `model.train()` is forgotten; nothing in the records tells the
  two apart.
- *statistics*: only batch norms. Freezing them is common: info.

Measured: with a dropout of 0.3 two forwards of one batch in evaluation mode are equal
to the last bit; `from_pretrained` returns a model in evaluation mode, and what
`get_peft_model` puts around it is in training mode; a Llama of four blocks with
checkpointing keeps 1.2 MB for backward in evaluation mode and 0.15 MB in training mode.
With peft 0.21.2 and `lora_dropout=0.2`, 4 of 4 dropouts are on after `get_peft_model`
of a base in evaluation mode, and none after `model.get_base_model().eval()`.
By hand: `[n for n, m in model.named_modules() if not m.training]` before a backward.

## What to try
1. `model.train()` before the loop, and again after each evaluation and generation.
2. In a custom hook: save `model.training`, and restore it.
3. A teacher that shares its modules with the model (`get_base_model()`, a pass within
   `disable_adapter`): restore the mode after its forward.
4. To switch a dropout off: set its p to 0, which is explicit.

## Known problems
Switching dropout off for the last part of a run by `model.eval()`, on purpose, raises
an alarm; through its p it does not. So does intended evaluation mode, set in each step
of a trainer that calls `train()` in each step, if lora_dropout is above 0.

## Known myths
"`model.train()` on a PeftModel does not reach the base": measured with peft 0.21.2, it
does.

## References
- shubhamagarwal92/mmd#14, callummcdougall/ARENA_3.0#179 (eval left on)
- transformers `modeling_layers.py`: blocks are checkpointed in training mode only
- TrainCheck, TF-33844
"""

from collections.abc import Iterator

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.reasons.mode_reasons import Signs, why_off
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, needs_steps_if_recorded
from ftlab.rules.words import at_steps, counted, in_words, number

MIN_STEPS = 2
"""Steps in a row that were trained so."""

SHARE = 0.5
"""Share of these steps that must have asked for training mode in vain.

An evaluation that ends with train() asks for it now and then.
"""

TABLE = "modes"

ROOT = "model"
"""What the probe calls the whole model."""


class EvaluationModeInTraining(Rule):
    """Finds what is trained in evaluation mode."""

    code = "MOD006"
    status = "stable"
    requires = needs_steps_if_recorded("modes_off", "the mode of the model's parts")

    def check(self, run: Run) -> Results:
        """Yield one finding, for the first time that the worst of it lasted."""
        if "dropouts_off" not in run.columns(TABLE):
            return
        matrix = run.matrix("dropouts_off", TABLE)
        off = dict(
            zip(run.steps.step.tolist(), run.steps["modes_off"].tolist(), strict=True)
        )
        on = dict(
            zip(run.steps.step.tolist(), run.steps["modes_on"].tolist(), strict=True)
        )
        found: list[Finding] = []
        for row, step in enumerate(matrix.steps.tolist()):
            last = _lasts(off, step)
            if last - step + 1 < MIN_STEPS:
                continue
            here = matrix.known[row]
            records = records_of(run, matrix.ids[here], TABLE)
            counts = _counts(run, here, row)
            switched = on.get(step - 1, 0) > on.get(step, 0)
            undone = _is_put_back(run, step, last)
            signs = Signs(switched, undone)
            found += self._finding(records, counts, (step, last), signs)
        # Norms that are frozen for the whole run must not hide what comes later.
        yield from sorted(found, key=lambda each: -each.severity)[:1]

    def _finding(
        self,
        records: list[NameRecord],
        counts: list[dict[str, int]],
        steps: tuple[int, int],
        signs: Signs,
    ) -> Iterator[Finding]:
        concerned = [
            (record, count)
            for record, count in zip(records, counts, strict=True)
            if record.meta.get("learns")
            and (not record.meta.get("single") or record.meta.get("alike_on"))
        ]
        total = {key: sum(c[key] for _, c in concerned) for key in counts[0]}
        if not any(total.values()):
            return
        modules = [record for record, _ in concerned]
        why = why_off(total, modules, signs)
        yield self.finding(
            why.severity,
            f"{at_steps(*steps)}: {in_words(m.name for m in modules)} trained in "
            f"evaluation mode: {_said(modules, total)}",
            cause=why.cause,
            fix=why.fix,
            places=_places(modules),
            steps=steps,
            reason=why.kind,
            evidence={"modules": len(modules), "threshold": 0, **total},
            healthy="trained modules that depend on the mode are in training mode",
        )


def _is_put_back(run: Run, first: int, last: int) -> bool:
    """Tell whether training mode was asked for in most of the steps, and undone."""
    if "dropouts_put_back" not in run.steps.columns:
        return False
    inside = (run.steps.step >= first) & (run.steps.step <= last)
    undone = np.nan_to_num(run.steps["dropouts_put_back"][inside]) > 0
    return int(undone.sum()) >= max(MIN_STEPS, SHARE * len(undone))


def _places(modules: list[NameRecord]) -> list[Place]:
    """Name the call first where it concerned all, and else the modules."""
    parts = [Place("module", record.name) for record in modules]
    call = [Place("call", "model.eval"), Place("call", "model.train")]
    whole = any(record.name == ROOT for record in modules)
    front, behind = (call, parts) if whole else (parts, call)
    return [*front, *behind, *_dropouts(modules)]


def _lasts(off: dict[int, float], step: int) -> int:
    """Return the last step of a row of steps in which something is off."""
    last = step
    while off.get(last + 1, 0.0) > 0:
        last += 1
    return last if off.get(step, 0.0) > 0 else step - 1


def _counts(run: Run, here: np.ndarray, row: int) -> list[dict[str, int]]:
    columns = ("dropouts_off", "statistics_off", "checkpointing_off")
    values = {c: run.matrix(c, TABLE).values[row][here].tolist() for c in columns}
    return [
        {column: int(values[column][index]) for column in columns}
        for index in range(int(here.sum()))
    ]


def _said(modules: list[NameRecord], total: dict[str, int]) -> str:
    words = []
    if total["dropouts_off"]:
        p = max(float(str(module.meta["p"])) for module in modules)
        many = counted(total["dropouts_off"], "dropout")
        words.append(f"{many} (up to {number(p)}) do nothing")
    if total["checkpointing_off"]:
        words.append(f"{counted(total['checkpointing_off'], 'block')} not checkpointed")
    if total["statistics_off"]:
        many = counted(total["statistics_off"], "batch norm")
        words.append(f"{many} with fixed statistics")
    return ", ".join(words)


def _dropouts(modules: list[NameRecord]) -> Iterator[Place]:
    for module in modules:
        if not module.meta.get("single"):
            for path in filter(None, text_of(module, "parts").split(",")):
                yield Place("module", path)
