"""Runs with a table of losses."""

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord
from ftlab.runlog.run import Run

PLAIN = {
    "loss_entropy": 4.8,
    "token_loss": 4.8,
    "plain_loss": 4.8,
    "log_total": 0.0,
    "label_before": 0.0,
    "label_same": 0.0,
    "label_next": 1.0,
    "label_after": 0.0,
    "weightless": float("nan"),
    "off_unit": float("nan"),
    "off_total": float("nan"),
    "common_label": 5.0,
    "common_share": 0.04,
    "common_read": 0.04,
}
META = {
    "loss": "cross_entropy",
    "normalised": True,
    "of": "mm",
    "factor": 1.0,
    "factor_op": "",
    "causal": True,
    "head": "lm_head",
    "classes": 128,
}


def losses(*rows, values=None, **meta):
    """Make a run of one term: its columns step by step, where they are not plain.

    ``values`` are those of each step.
    """
    run = Run()
    run.append(NameRecord(7, "losses", "a", "module", "", meta=META | meta))
    for step, row in enumerate(rows):
        columns = {k: np.array([v], np.float32) for k, v in (PLAIN | row).items()}
        run.append(Block("losses", step, np.array([7], np.int32), columns))
        run.append(StepRecord(step, 0.0, loss=1.0, values=values or {}))
    return run
