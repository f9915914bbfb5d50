"""EXP011, precision: float32 and the precision in use differ by rounding alone.

## What must hold
Float32 and the precision in use differ by rounding alone.

## Why
float16 ends at 65,504 and bfloat16 keeps 8 bits: an overflow, a forgotten cast or a
kernel for one dtype alone changes results beyond rounding. Each module is given the
same inputs in both, so what one loses is not blamed on the next.

## When it does not apply
Nothing: it is always tried, in forward. A cast to 8 bits or to integers is taken as
meant: float32 keeps it too. Layers of 4 or 8 bits have kernels that round as they like.

## What to try
Keep the module that is named in float32, or use bfloat16 in place of float16.

## References
- ftlab, `ftlab.diff(model, batch, between="dtype")`
"""

from ftlab.executions.births import births
from ftlab.executions.losses import losses
from ftlab.executions.pairs import dtype
from ftlab.executions.side import Side
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome

MORE = 10.0
"""Error over what rounding explains, above which more than rounding is lost; modules
in bfloat16 and float16 stay below 3."""


class Precision(Experiment):
    """Each module in the precision in use, and in float32."""

    code = "EXP011"
    name = "precision"
    relation = "float32 and the precision in use differ by rounding alone"
    cause = (
        "A value leaves the range of the precision in use, or is stored or computed "
        "in fewer bits."
    )
    fix = (
        "Keep the module that is named in float32, or use bfloat16 in place of float16."
    )

    def run(self, live: Live) -> Outcome:
        """Compare what each module makes of the same inputs."""
        pair = live.of(dtype(live.model, live.batch))
        assert isinstance(pair.a, Side)
        found = losses(pair.a, pair.b)
        few = live.few_bits()
        born = [each for each in births(found, MORE) if each.module not in few]
        ratios = {
            place: float(r.max())
            for place, r in found.values.items()
            if len(r) and place.module not in few
        }
        if not born:
            most = max(ratios.values(), default=0.0)
            return self.outcome(
                "holds",
                f"{most:.3g} x what rounding explains, at most",
                evidence={"ratio": most},
            )
        modules = {b.module or "the model": ratios[b.places[0]] for b in born}
        first, ratio = next(iter(modules.items()))
        more = f", and {len(modules) - 1} more" if len(modules) > 1 else ""
        much = (
            "leaves the range of its dtype"
            if ratio == float("inf")
            else f"loses {ratio:.3g} x what rounding explains"
        )
        return self.outcome(
            "broken",
            f"{first} {much}{more}",
            places=tuple(Place("module", name) for name in modules),
            evidence={"ratio": ratio},
        )
