"""What each tool says about a planted anomaly, and how much of it is true.

`claim` holds what a tool said and judges it; `tools` and `lens` drive the tools;
`trial` runs one tool on one case in a process of its own; `cost` measures.
"""
