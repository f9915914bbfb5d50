"""The gallery: real-world faults of fine-tuning runs, each with its healthy twin.

A file here is one fault, as a user would have written it, on a tiny model: teaching
material, and the benchmark for the rules. The registry (`ftlab.faults.registry`) finds
the files; nothing has to be registered.
"""
