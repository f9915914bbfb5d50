"""Composers: what a user starts, stops and holds in a variable.

Who calls whom: `ftlab.watch`, `ftlab.debug` and `ftlab.open_run` put probes, run log,
rules and views together here; the notebook and the command line only call these. The
integrations with training frameworks live in `ftlab.session.integrations`.
"""
