"""Whether a compiled graph is used that cannot have noticed what became trainable.

By default Dynamo looks at ``requires_grad`` of every parameter before it uses a graph,
and makes a new one when it has changed. That can be switched off.
"""

from ftlab.records.finding import Place
from ftlab.rules.reasons.missing import Missing, Reason
from ftlab.rules.words import listed
from ftlab.runlog.run import Run


def stale_graph(run: Run, missing: Missing) -> Reason | None:
    """Tell whether graphs are in use that are not guarded on the model's parameters."""
    found = (run.facts.model.get("compilation") or {}).get("unguarded") or []
    if not found or not missing.lost:
        return None
    return Reason(
        "stale-graph",
        f"The compiled graph of {listed(found)} is reused without checking the model "
        "(guard_filter_fn, or set_stance(skip_guard_eval_unsafe=True)): it was "
        "compiled before these parameters existed or were trainable.",
        "Call torch._dynamo.reset() after adding, switching or unfreezing, or keep the "
        "guards on modules and parameters.",
        (
            *(Place("module", name) for name in found),
            Place("call", "torch.compile"),
            Place("config", "guard_filter_fn"),
        ),
    )
