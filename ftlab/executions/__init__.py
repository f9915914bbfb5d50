"""Two executions that should be equal: where they part, and what that does.

`session` calls `difference.part`, which executes both sides several times. Each time
`listening` shows a listener every tensor that a module is given or returns, and in
backward its gradient; `tape` keeps one side's, and `passes` compares the other's.
"""
