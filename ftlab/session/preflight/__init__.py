"""Checks before a run: seven layers, at most two dry steps, and nothing changed by it.

Who calls whom: `preflight.preflight` makes a `given.Given` of its arguments, keeps all
state (`kept.KeptState`), reads the first batches (`reading`), runs dry steps under the
recorder (`dry_run`, and for a Trainer `trainer_run`) and puts everything back. The
``*_checks`` modules turn what was seen (`seen.Seen`) into items of one layer each; the
rules judge the dry steps as they judge any run. `of_run` does without live objects.
"""
