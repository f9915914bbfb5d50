"""The rule ADP034, misplaced-optimizer-state.

## What it does
Finds optimizers whose loaded states are assigned to the wrong parameters.

## Why is this bad?
`optimizer.load_state_dict` goes by the order of the parameters and ignores names and
shapes. Where the optimizer was built in a different order (sorted names, other groups,
an adapter added first), every moment belongs to a different tensor: the next step
raises, or, where shapes agree, moves each tensor by the size and direction of another
one.

## Evidence
The states of each optimizer before the first step, and after each `load_state_dict` of
it in the run.
- *shape*: a state that torch's own optimizers keep in the parameter's shape has another
  one. No threshold. States of other libraries (GaLore projects, Adafactor factors) are
  not compared.
- *names*: a group calls a parameter by the name of another one of the model: an
  optimizer that was built of named_parameters() stores names, and loading brings them.
- *swapped*: B of a LoRA pair began at 0, so it is the sum of its updates, and these
  follow its own first moment. Reported when the direction of at least two B of one
  shape is, by its cosine, mutually nearest to the moments of another one: at least 0.2
  and six deviations of chance, with at most half of that to its own.

Measured on tiny models of 3 families (4 layers, rank 8, AdamW): cosines with the own
moment are 0.33 to 0.74 on average after 5 steps, 0.18 to 0.63 after 20 and 0.10 to 0.29
after 100; with another's at most 0.19, and that in the smallest tensors (256 elements,
where six deviations of chance are 0.38). Of 288 states that stood right (4 families, 6
seeds, 2 and 4 layers, rank 4, 2 to 80 steps) none is reported; of 192 that were loaded
over layers in reverse after 2 to 20 steps all are.
By hand: `[(tuple(p.shape), tuple(s["exp_avg"].shape)) for p, s in
optimizer.state.items()]`.

## What to try
1. Build the optimizer over the same parameters, in the same order and groups, as where
   its state was saved: `[p for p in model.parameters() if p.requires_grad]`.
2. Add the adapter, and load its weights, before the optimizer is built and loaded.
3. Pass `model.named_parameters()` to the optimizer and compare `param_names` of the
   saved groups (torch 2.6 and later).
4. Start with a new optimizer and a warm-up rather than with wrong moments.

## Known problems
After a hundred steps and more the direction of B no longer matches its moments, and a
swap is not seen. Adapters other than LoRA, initialisations that are not 0, and moments
in 8 bits are judged only by their shapes and names.

## References
- wochenlong/lora-scripts-next#320 (states shifted by one parameter)
- roytseng-tw/Detectron.pytorch#118, X-LANCE/text2sql-lgesql#18
- torch, `Optimizer.load_state_dict` (the note on the order of parameters)
"""

from collections.abc import Mapping
from typing import Any

from ftlab.records.name_words import in_words, short_name
from ftlab.rules.reading.loads import optimizer_loads
from ftlab.rules.reading.saving import first_facts, needs_model, span, start
from ftlab.rules.rule import Finding, Results, Rule, Run
from ftlab.rules.words import counted


class MisplacedOptimizerState(Rule):
    """Finds states that belong to other parameters."""

    code = "ADP034"
    status = "stable"
    layer = "rollback"
    requires = needs_model

    def check(self, run: Run) -> Results:
        """Yield one finding for the beginning, or for the first load that has it."""
        first = first_facts(run).step
        known = start(run).get("optimizer_fit", ())
        fits = [("before step", first, fit) for fit in known]
        fits += [("step", e.step, e.detail) for e in optimizer_loads(run)]
        for when, step, fit in fits:
            if finding := self._finding(run, f"{when} {step}", step, fit):
                yield finding
                return

    def _finding(
        self, run: Run, when: str, step: int, fit: Mapping[str, Any]
    ) -> Finding | None:
        misnamed = dict(fit.get("misnamed", {}))
        misshapen, swapped = (
            list(fit.get("misshapen", ())),
            dict(fit.get("swapped", {})),
        )
        if misshapen:
            count = int(fit["misshapen_count"])
            reason, names = "shape", misshapen
            words = (
                f"the states of {count} of {counted(fit['states'], 'parameter')} "
                f"differ in shape from their parameter: {in_words(misshapen)}"
            )
        elif misnamed or swapped:
            reason, pairs = ("names", misnamed) if misnamed else ("swapped", swapped)
            count, names = len(pairs), list(pairs)
            one, other = next(iter(pairs.items()))
            words = (
                f"{count} tensors have the states of others: {short_name(one)} has "
                f"that of {short_name(other)}"
            )
        else:
            return None
        return self.error(
            f"{when}: {words}",
            cause="The optimizer's state was saved for other parameters, or for these "
            "in a different order: load_state_dict goes only by order.",
            fix="Build the optimizer over the same parameters in the same order as "
            "when its state was saved, after adding the adapter.",
            places={"optimizer": "state", "param": [name for name in names if name]},
            steps=span(run, step),
            reason=reason,
            evidence={"tensors": count},
            healthy="every state has its parameter's shape, and B points along its own "
            "moments",
        )
