"""Everything that touches a live model and turns it into records.

Who calls whom: taps (`ftlab.probes.taps`) see the operations of the training loop, the
recorder calls the probes that are due and hands their records to a sink. Probes know
records, not the store, and no probe ever waits for the device.

At the root is what calls probes and what all of them share; each folder holds the
probes of one part of training.
"""
