"""The rule ADP011, adapter-multiplied-by-zero.

## What it does
Finds adapters whose own configuration multiplies their output by 0: a scaling of 0, a
dropout of 1, or a prompt of no tokens.

## Why is this bad?
The adapter adds nothing and gets gradients of exactly 0, for ever. It is trainable, it
is in the optimizer, it is active and it is saved, so that every other check passes.

## Evidence
`scaling` of each active LoRA pair as the layer holds it, measured at the first step;
that of the layers of other methods (LoHa, LoKr, VeRA), and the probability of every
dropout that a layer has (`lora_dropout`, `vera_dropout`, `rank_dropout`,
`module_dropout`), as read of the layers; the number of elements of a learned prompt.
There is no threshold: each is exactly 0, or exactly 1. All layers at 0 is an error,
some are a warning.
Measured on peft 0.21.2: with `module_dropout=1` and nothing else to train, backward
raises; with a head beside it that is trained it does not.
By hand: `{n: m.scaling for n, m in model.named_modules() if hasattr(m, "scaling")}`.

## What to try
1. `lora_alpha` above 0; alpha / r is the factor that B A is multiplied by.
2. `lora_dropout=0.05`: it is the share that is dropped, not the share that is kept; the
   same goes for `vera_dropout`, `rank_dropout` and `module_dropout`.
3. `num_virtual_tokens=20`.
4. After `scale_layer(0)` or an ablation: `unscale_layer()`, `set_scale(adapter, 1)`.

## Known problems
A scaling that is 0 only for the length of an evaluation is seen if a step is taken
meanwhile.

## References
- Hu et al. 2021, LoRA, section 4.1 (alpha / r)
- huggingface/peft: `LoraLayer.set_scale`, `scale_layer`
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ftlab.rules.reading.tensors import records_of
from ftlab.rules.reading.wiring import (
    Described,
    adapters,
    count_of,
    names_of,
    needs_wiring,
    steps_of,
)
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity
from ftlab.rules.words import counted, in_words


class AdapterMultipliedByZero(Rule):
    """Finds adapters that their configuration switches off."""

    code = "ADP011"
    status = "stable"
    requires = needs_wiring

    def check(self, run: Run) -> Results:
        """Yield one finding per factor that is 0."""
        yield from self._scaling(run)
        for name, described, config in adapters(run):
            yield from self._configured(run, name, described, config)

    def _scaling(self, run: Run) -> Results:
        matrix = run.matrix("scaling", "adapters").measured()
        if not matrix.values.size:
            return
        pairs = records_of(run, matrix.ids, "adapters")
        zero = (matrix.values == 0) & matrix.known
        lost = [p for p, z in zip(pairs, zero.any(axis=0), strict=True) if z]
        lost = [pair for pair in lost if pair.meta.get("active", True)]
        if not lost:
            return
        rows = np.flatnonzero(zero.any(axis=1))
        first, last = int(matrix.steps[rows[0]]), int(matrix.steps[rows[-1]])
        by_alpha = all(pair.meta.get("alpha") == 0 for pair in lost)
        modules = [str(pair.meta.get("module", pair.name)) for pair in lost]
        places = [Place("module", name) for name in modules]
        config = Place("config", "lora_alpha")
        yield self._finding(
            "scaling",
            f"the scaling of {len(lost)} of {counted(len(pairs), 'LoRA pair')} is 0: "
            f"{in_words(modules)}",
            (
                "lora_alpha is 0, so alpha / r is 0 too."
                if by_alpha
                else "Something set the layer's scaling to 0 after it was created.",
                "Set lora_alpha to r or 2 r."
                if by_alpha
                else "layer.set_scale(adapter, 1), or unscale_layer().",
            ),
            [config, *places] if by_alpha else [*places, Place("config", "scaling")],
            (first, last),
            whole=len(lost) == len(pairs),
        )

    def _configured(
        self, run: Run, name: str, described: Described, config: Described
    ) -> Results:
        for setting, found in (described.get("switched_off") or {}).items():
            # LoRA's is measured as its layers are: it may change at any step.
            if setting != "scaling" or described.get("type") != "LORA":
                yield self._switched_off(run, name, setting, found, described)
        prompt = (described.get("parts") or {}).get("prompt")
        if config.get("num_virtual_tokens") == 0 or (
            prompt and not prompt.get("elements")
        ):
            yield self._finding(
                "no-virtual-tokens",
                f"the prompt of adapter {name} has 0 tokens",
                ("num_virtual_tokens is 0.", "num_virtual_tokens=20."),
                [Place("config", "num_virtual_tokens")],
                steps_of(run),
            )

    def _switched_off(
        self, run: Run, name: str, setting: str, found: Any, described: Described
    ) -> Finding:
        layers, modules = int(described.get("layers") or 0), names_of(found)
        where = f"{count_of(found)} of {counted(layers, 'layer')} of adapter {name}"
        if setting == "scaling":
            words = f"the scaling of {where} is 0"
            why = ("alpha is 0, so alpha / r is 0 too.", "Set alpha to r or 2 r.")
            field = "alpha"
        else:
            words = f"{setting} of {where} is 1: in training it adds nothing"
            why = (
                f"{setting} is the share that is dropped, and it is 1.",
                f"{setting}=0.05, or 0.",
            )
            field = setting
        return self._finding(
            "scaling" if setting == "scaling" else "dropout",
            f"{words}: {in_words(modules)}",
            why,
            [Place("config", field), *(Place("module", m) for m in modules)],
            steps_of(run),
            whole=count_of(found) >= layers,
        )

    def _finding(
        self,
        reason: str,
        words: str,
        why: tuple[str, str],
        places: Sequence[Place],
        steps: tuple[int, int],
        *,
        whole: bool = True,
    ) -> Finding:
        return self.finding(
            Severity.ERROR if whole else Severity.WARNING,
            f"step {steps[0]}: {words}",
            cause=why[0],
            fix=why[1],
            places=places,
            steps=steps,
            reason=reason,
            evidence={"threshold": "exactly 0"},
            healthy="the adapter's output is multiplied by alpha / r, above 0",
        )
