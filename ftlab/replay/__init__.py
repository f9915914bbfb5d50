"""Executing a step again: capsule, tracer, and the pause of a live run.

A capsule keeps what a step needs to run once more with the same numbers; the tracer
finds the first operation that went wrong; the controller holds the training thread
still while somebody looks.
"""
