"""Chat templates: rendered apart from the notebook, read by rendering.

A template is a program that somebody else wrote. `child` is the process that runs it,
`worker` holds that process and stops it, `inputs` writes what it is given as JSON. The
others ask the worker: `shape` finds how a template opens and ends turns (`borders`),
`spans` who wrote each character of a conversation (`marks`, `owners`, `layout`),
`survey` what a template does to messages (`traits`) and what a vocabulary makes of it
(`vocabulary`), `serving` how training and serving differ, `compare` how two templates
do.
"""
