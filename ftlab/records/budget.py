"""What a budget of watching counts, said once for those who keep it and who show it."""

SHARE = 0.02
"""Of the training thread's time, unless `ftlab.watch` is asked for another share."""

SHORTEST = 0.05
"""Seconds that a step counts as at least: 2 % of them are one millisecond."""

FIRST_LOOK = (0, 1, 2, 3, 4, 8, 16)
"""Steps that are measured whole, outside the budget, counted from the first one."""

STRIDE = 8
"""Full steps that follow light ones begin at multiples of this, or of 2, 4 and 8 times
as many: so two runs of one training have some of them in common."""
