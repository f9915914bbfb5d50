"""Rules: what a run can be told to have gone wrong, one rule per file.

Who calls whom: the engine (`ftlab.rules.engine`) takes the rules that the registry
(`ftlab.rules.registry`) finds in the area folders, hands each a window of a run and
merges what they yield into a report. A rule reads the run and nothing else: what
several of them read is in `ftlab.rules.reading`, and how they tell causes apart in
`ftlab.rules.reasons`. Its page (`ftlab.rules.page`) is the docstring of its file.
"""
