"""The rule ADP019, adapter-in-other-precision.

## What it does
Finds adapters in float64 on a base that is not, adapters in half precision that lose
most of their updates through it, and trainable adapters in float16.

## Why is this bad?
PEFT casts the input of every adapter to the adapter's dtype and the result back, so
nothing fails. In float64 each adapter costs two casts and a matrix product at a
fraction of the speed (on most GPUs a thirty-second), twice the memory for weights and
optimizer, and twice the file. In float16 small gradients and updates round to 0. In
bf16 an update below 1/512 of a weight is rounded away; PEFT keeps adapters in float32
for that reason, until `model.to(torch.bfloat16)` or `.half()` casts them too.

## Evidence
The dtype of every tensor of an adapter by part, against the dtypes of the model. There
is no threshold: PEFT makes adapters in the base's dtype, or in float32, and never in
float64. float32 on a bf16 or 4-bit base is the recommended state; what bf16 does to
updates is measured. float16 is info, and an error (*float16-eps*) where an optimizer of
torch.optim with Adam in its name has an eps below 3e-8, which float16 rounds to 0, and
is not fused: the first step then divides 0 by 0. Measured with `model.half()` and
AdamW: the loss is NaN at step 1, on a tiny Llama on the CPU; with SGD it is not. bf16
and float16 are an error (*rounded-away*) where the updates say so: at least 90 % of a
tensor stays where it was, as NUM002 measures it (which then follows from this), in
tensors of the adapter with 10 % of all that is trained. Measured on a small Llama (r =
8, AdamW), median share of lora_A that an update left in place in bf16, at learning
rates of 1e-3, 2e-4, 1e-4, 2e-5 and 1e-6: 0.14, 0.69, 0.81, 0.96 and 1.00; of lora_B,
which starts at 0, at most 0.01; in float32 0.
By hand: `{p.dtype for n, p in model.named_parameters() if "lora_" in n}`.

## What to try
1. `torch.from_numpy(array).float()`: NumPy's default is float64.
2. `model.to(torch.float32)` only for adapters: `for n, p in model.named_parameters():
   if "lora_" in n: p.data = p.data.float()`, before the optimizer is built.
3. Cast the base before get_peft_model, not the whole model after it; for a model that
   is already cast, see 2.
4. For float16 models: adapters in float32 (`autocast_adapter_dtype=True`, the default).

## Known problems
A base in float64 on purpose (a gradient check) is not reported.

## Known myths
"LoRA starts in float64": measured on peft 0.21.2, new adapters are float32 on a base in
float32, bf16, fp16 and 4-bit (NF4). "torch.set_default_dtype(float64) leaks into LoRA":
measured, PEFT casts new adapters to the base's dtype; 8 of 8 tensors were float32.
"4-bit layers need alpha % r == 0": measured with r = 8 and alpha = 4, 12 and 13 on NF4
layers: the loss fell in all, and what the adapter added was alpha / r times B A within
3e-8.

## References
- huggingface/peft#1172, #2421 (mixed dtypes)
- PyTorch, `torch.from_numpy` keeps float64
"""

from collections.abc import Mapping

from ftlab.rules.reading.standstill import STUCK
from ftlab.rules.reading.wiring import (
    Described,
    adapters,
    names_of,
    needs_wiring,
    steps_of,
)
from ftlab.rules.reasons.lost_updates import (
    VANISHES,
    epsilon_vanishes,
    lost_to_rounding,
)
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, in_words, number

_PLACES = {"float64": Severity.WARNING, "float16": Severity.INFO}


class AdapterInOtherPrecision(Rule):
    """Finds adapters in a dtype that costs speed or precision."""

    code = "ADP019"
    status = "stable"
    requires = needs_wiring

    def check(self, run: Run) -> Results:
        """Yield one finding per adapter and dtype."""
        yield from self._rounded(run)
        dtypes: Mapping[str, int] = run.facts.model.get("dtypes") or {}
        for name, described, _ in adapters(run):
            for dtype, severity in _PLACES.items():
                found = _of_dtype(described, dtype)
                # A base in float64 holds most of the model's elements.
                if not found or (dtype == "float64" and next(iter(dtypes)) == dtype):
                    continue
                if dtype == "float16" and epsilon_vanishes(run):
                    yield self._without_epsilon(run, name, found)
                else:
                    yield self._finding(run, (name, dtype), found, severity)

    def _finding(
        self,
        run: Run,
        what: tuple[str, str],
        found: Mapping[str, Described],
        severity: Severity,
    ) -> Finding:
        adapter, dtype = what
        names = [n for part in found.values() for n in names_of(part.get("first"))]
        count = sum(int(part["dtypes"][dtype]) for part in found.values())
        base = ", ".join(
            kind for kind in run.facts.model.get("dtypes", {}) if kind != dtype
        )
        double = dtype == "float64"
        return self.finding(
            severity,
            f"step {steps_of(run)[0]}: {counted(count, 'tensor')} of adapter {adapter} "
            f"are {dtype}, the rest of the model is {base or dtype}: {in_words(names)}",
            cause="The weights came from NumPy, whose default is float64, or were cast "
            "by hand; PEFT casts in every forward, so nothing fails."
            if double
            else "The adapter was created with autocast_adapter_dtype=False or cast.",
            fix="Cast when loading: torch.from_numpy(array).float()."
            if double
            else "Keep adapters in float32: autocast_adapter_dtype=True.",
            places={"param": names},
            steps=steps_of(run),
            reason=dtype,
            evidence={"tensors": count, "threshold": 0},
            healthy="adapters are float32, or of the base's 16-bit dtype",
        )

    def _without_epsilon(
        self, run: Run, adapter: str, found: Mapping[str, Described]
    ) -> Finding:
        names = [n for part in found.values() for n in names_of(part.get("first"))]
        count = sum(int(part["dtypes"]["float16"]) for part in found.values())
        return self.error(
            f"step {steps_of(run)[0]}: {counted(count, 'tensor')} of adapter {adapter} "
            f"are float16, and Adam's eps is 0 in it: {in_words(names)}",
            cause="Adam divides by the root of its second moment plus eps. An eps of "
            "1e-8 is 0 in float16, and a gradient of 0, as lora_A's at the first step, "
            "gives 0 / 0. PEFT creates adapters in float32: the model was cast after "
            "get_peft_model, or autocast_adapter_dtype is False.",
            fix="Cast the base before get_peft_model, or the adapter back, p.data = "
            "p.data.float() for its parameters, before building the optimizer.",
            places={
                "param": names,
                "config": "autocast_adapter_dtype",
                "optimizer": "eps",
            },
            steps=steps_of(run),
            reason="float16-eps",
            evidence={"tensors": count, "threshold": VANISHES},
            healthy="adapters are float32, or of the base's bf16",
        )

    def _rounded(self, run: Run) -> Results:
        """Find adapters that half precision keeps from learning."""
        lost = lost_to_rounding(run)
        for adapter, (names, share, steps) in lost.items():
            dtypes = sorted({name.dtype.rpartition(".")[2] for name in names})
            yield self.error(
                f"{at_steps(*steps)}: an update leaves {number(100 * share)} % of "
                f"{counted(len(names), 'tensor')} of adapter {adapter} unchanged: "
                f"{in_words(name.name for name in names)}",
                cause=f"The adapter is {' and '.join(dtypes)}, in which a small update "
                "is rounded away. PEFT creates adapters in float32: the whole model "
                "was cast after get_peft_model, or autocast_adapter_dtype is False.",
                fix="Cast the base before get_peft_model, or the adapter back, p.data "
                "= p.data.float() for its parameters, before building the optimizer.",
                places={
                    "param": [name.name for name in names],
                    "config": "autocast_adapter_dtype",
                    "call": "model.to",
                },
                steps=steps,
                reason="rounded-away",
                evidence={
                    "stuck_share": share,
                    "threshold": STUCK,
                    "dtype": ", ".join(dtypes),
                },
                healthy="an adapter in float32 keeps every update",
            )


def _of_dtype(described: Described, dtype: str) -> dict[str, Described]:
    """Return the trainable parts that hold tensors of one dtype."""
    parts = (described.get("parts") or {}).items()
    return {
        name: part
        for name, part in parts
        if dtype in (part.get("dtypes") or {}) and part.get("trainable")
    }
