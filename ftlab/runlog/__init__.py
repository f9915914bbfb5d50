"""The run log: one columnar store for live, recorded and followed runs.

Who calls whom: the session's background thread appends each record to a `Run`
(``run.py``; steps in ``steps.py``, block tables in ``blocks.py``) and hands it to a
`LogWriter` (``writer.py``), which puts it into segments (``segment.py``) and line files
(``lines.py``). `open_log` (``reader.py``) reads such a folder into a `Run` again.
Rules and views read runs and nothing else.
"""
