"""Taps: they see the operations of a training loop and tell the `Listener`.

Who calls whom: user code calls torch; a tap stands in between (an official hook, or a
name rebound while attached), calls the listener's method before or after, and torch's
own function unchanged. One file per operation. A tap reacts to every object of its kind
in the process, so the listener decides by identity what concerns the watched model.
"""
