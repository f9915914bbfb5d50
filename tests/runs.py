"""Synthetic runs for rules: records appended by hand, so that edges are exact."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ftlab.records.facts import Facts
from ftlab.records.finding import Finding
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, LedgerEntry, StepRecord
from ftlab.rules.engine import Engine
from ftlab.rules.report import Report
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run

Values = Mapping[str, Sequence[float]]


class RunBuilder:
    """Builds a run step by step.

    Tensors are named first; a step takes the values of all of them by column.
    """

    def __init__(self) -> None:
        self.run = Run()
        self.tensors: list[NameRecord] = []
        self.pairs: list[NameRecord] = []
        self.step_number = 0

    def tensor(self, name: str, layer: str = "", **fields: Any) -> int:
        meta = {"role": "weight", "adapter": "", "module": name.rpartition(".")[0]}
        meta |= {"group": 0} | fields.pop("meta", {})
        shape, dtype = fields.pop("shape", (8, 8)), fields.pop("dtype", "float32")
        row = len(self.tensors)
        record = NameRecord(
            row, "tensors", name, "param", layer, shape, dtype, meta=meta
        )
        self.tensors.append(record)
        self.run.append(record)
        return row

    def lora(self, layer: str, adapter: str = "default", module: str = "q") -> int:
        """Name a pair and its two tensors; returns the id of the pair's row."""
        path = f"model.{layer}.{module}"
        rows = []
        for role in ("lora_A", "lora_B"):
            meta = {"role": role, "adapter": adapter, "module": path}
            name = f"{path}.{role}.{adapter}.weight"
            rows.append(self.tensor(name, layer, meta=meta))
        return self.pair(layer, adapter, module, a=rows[0], b=rows[1])

    def pair(self, layer: str, adapter: str, module: str = "q", **meta: Any) -> int:
        row = 1000 + len(self.pairs)
        path = f"model.{layer}.{module}"
        facts = {"role": "lora_pair", "adapter": adapter, "module": path} | meta
        record = NameRecord(
            row, "adapters", f"{path} [{adapter}]", "adapter", layer, meta=facts
        )
        self.pairs.append(record)
        self.run.append(record)
        return row

    def state(self, layers: int = 2, **meta: Any) -> dict[str, int]:
        """Announce a state of the adapter layers; returns what the ledger holds."""
        row = 5000 + len(self.run.names("adapter_states"))
        facts = {"layers": layers, "active": "default"} | meta
        name = f"state {row - 5000}"
        self.run.append(
            NameRecord(row, "adapter_states", name, "adapter", "", meta=facts)
        )
        return {"adapter_state": row}

    def facts(self, **parts: Any) -> "RunBuilder":
        self.run.append(Facts(**parts))
        return self

    def step(
        self,
        tensors: Values | None = None,
        adapters: Values | None = None,
        ops: Sequence[str | tuple[str, str, Mapping[str, Any]]] = (),
        **fields: Any,
    ) -> "RunBuilder":
        """Append one step; a column given as one number holds for all rows."""
        number = self.step_number
        for table, rows, columns in (
            ("tensors", self.tensors, tensors),
            ("adapters", self.pairs, adapters),
        ):
            if columns:
                ids = np.array([record.id for record in rows], np.int32)
                values = {
                    name: np.broadcast_to(
                        np.asarray(column, np.float32), ids.shape
                    ).copy()
                    for name, column in columns.items()
                }
                self.run.append(Block(table, number, ids, values))
        for index, op in enumerate(ops):
            name, target, detail = (op, "", {}) if isinstance(op, str) else op
            self.run.append(LedgerEntry(number, index, name, target, detail))
        fields = {"time": float(number), "loss": 2.0, "lr": (1e-3,)} | fields
        self.run.append(StepRecord(step=number, **fields))
        self.step_number += 1
        return self

    def steps(self, count: int, *columns: Values | None, **fields: Any) -> "RunBuilder":
        """Append steps that are all alike."""
        for _ in range(count):
            self.step(*columns, **fields)
        return self


def healthy_lora(steps: int = 40, layers: int = 3, every: int = 16) -> RunBuilder:
    """Build a run of LoRA that learns: the gradient of A is 0 at step 0 only."""
    builder = RunBuilder()
    for layer in range(layers):
        builder.lora(f"layers.{layer}")
    builder.facts(
        model={"class": "Toy", "peft": {}},
        optimizers=(
            {
                "class": "AdamW",
                "groups": [{"lr": 1e-3, "weight_decay": 0.0, "ids": []}],
                "foreign": [],
                "missing": [],
            },
        ),
        schedulers=({"class": "LambdaLR", "optimizer_index": 0, "asked": {}},),
        training={"scaler": False, "logging_nan_inf_filter": False},
    )
    rng = np.random.default_rng(0)
    for step in range(steps):
        grown = min(step, 10) / 10
        grads = np.tile([grown, 1.0], layers) * rng.uniform(0.5, 1.5, 2 * layers)
        columns = {"has_grad": 1.0, "grad_l2": grads, "grad_max": grads / 4}
        pairs = None
        if step % every == 0:
            weights = np.tile([3.0, 0.2 * grown], layers)
            columns |= {"weight_l2": weights, "update_l2": 1e-3, "stuck_share": 0.0}
            pairs = {"a_l2": 3.0, "b_l2": 0.2 * grown, "ba_l2": 0.1 * grown}
        builder.step(
            columns,
            pairs,
            ops=loop_ops(),
            loss=3.0 - 0.02 * step + 0.1 * rng.standard_normal(),
            grad_norm=float(np.linalg.norm(grads)),
        )
    return builder


def loop_ops(scheduler: str = "after") -> list[Any]:
    """Return the operations of one step of a loop with a scheduler."""
    forward = ("forward", "model", {"mode": "train", "grad_enabled": True})
    backward = ("backward", "loss", {"micro": 0})
    step = ("step", "optimizer 0", {"lr": [1e-3]})
    rates = {"lr_before": [1e-3], "lr_after": [9e-4]}
    schedule = ("scheduler_step", "scheduler 0", rates)
    zero = ("zero_grad", "optimizer 0", {})
    orders = {
        "after": [zero, forward, backward, step, schedule],
        "before": [zero, forward, backward, schedule, step],
        "twice": [zero, forward, backward, step, schedule, schedule],
        "none": [zero, forward, backward, step],
    }
    return orders[scheduler]


def report_by(rule: Rule, run: Run) -> Report:
    """Return what one rule reports of a run."""
    return Engine([rule]).check(run)


def found_by(rule: Rule, run: Run) -> tuple[Finding, ...]:
    """Return what one rule finds in a run."""
    return report_by(rule, run).findings


def reporter(rule: Rule) -> Callable[[RunBuilder], Report]:
    """Return a function from a builder to what ``rule`` reports of its run."""
    return lambda builder: report_by(rule, builder.run)


def checker(rule: Rule) -> Callable[[RunBuilder], tuple[Finding, ...]]:
    """Return a function from a builder to what ``rule`` finds in its run."""
    return lambda builder: found_by(rule, builder.run)


def only(
    findings: Iterable[Finding],
    severity: str = "",
    place: str = "",
    *,
    steps: tuple[int, int] | None = None,
    **evidence: Any,
) -> Finding:
    """Return the one finding there is; what is given of it must hold."""
    (finding,) = findings
    if severity:
        assert finding.severity.label == severity
    if place:
        assert str(finding.place) == place
    if steps is not None:
        assert (finding.first_step, finding.last_step) == steps
    for name, value in evidence.items():
        assert finding.evidence[name] == value
    return finding


def places(finding: Finding) -> list[str]:
    """Return the places of a finding as text."""
    return [str(place) for place in finding.places]
