"""Relations that hold in every right set-up, each tried on copies of a live step.

`session.prove` makes a `Live` and runs each `Experiment` of the registry on it. An
experiment executes something twice and returns an `Outcome`; where the two part,
`executions.difference` says where.
"""
