"""The run log: one columnar store for live, recorded and followed runs.

Who calls whom: the session's background thread appends each record to a `Run`
(``run.py``; steps in ``steps.py``, block tables in ``blocks.py``) and hands it to a
`LogWriter` (``writer.py``), which puts it into segments (``segment.py``) and line files
(``lines.py``). `open_log` (``reader.py``) reads such a folder into a `Run` again, and
``follow.py`` reads on while it grows. Rules and views read runs and nothing else.

The folder, schema 1; each rank writes its own sub-folder, nobody ever takes a lock::

    run.json                        schema, start, end, versions, configuration (rank 0)
    rank-00000/names.jsonl          what the ids mean; the latest line of an id holds
    rank-00000/events.jsonl         findings, pauses, warnings
    rank-00000/facts.json           the first facts
    rank-00000/facts-changes.jsonl  later facts, each complete
    rank-00000/steps-000000.arrow   one row per attempted optimizer step
    rank-00000/tensors-000000.arrow and any other block table: one row per step and id
    rank-00000/rollup64-tensors-000000.arrow, rollup4096-...: low, high, mean, counts
    rank-00000/ledger-000000.arrow  one row per operation; its detail is JSON
    rank-00000/eval-000000.arrow    one row per metric of an evaluation
    rank-00000/anomalies/step-000173/ops.arrow   where a debugger stopped: the step's
    rank-00000/anomalies/step-000173/trace.json  operations in order; report and words

Of each table only the last segment grows. It is an Arrow IPC stream; when it is full it
is rewritten, atomically and under the same name, as an Arrow IPC file. In both, null
means *not measured* and NaN is the value.
"""
