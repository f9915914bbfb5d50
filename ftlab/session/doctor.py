"""`ftlab.doctor`: whether the machine and its packages are fit to train."""

import os
from pathlib import Path

from ftlab.laboratory.doctor.machine import devices, environment, machine
from ftlab.laboratory.doctor.probes import computing
from ftlab.laboratory.doctor.versions import versions
from ftlab.views.findings.doctor import DoctorView


def doctor() -> DoctorView:
    """Look at versions, GPU, what computes right here, memory, disks and environment.

    Versions are held against combinations that are known to be bad, each with its
    source; where a small run can show the fault, that decides and not the number. A
    matrix product in each dtype, each back end of attention and a 4-bit layer are run
    and compared with float64. Nothing is downloaded or changed; it takes a few seconds.

    Returns
    -------
    DoctorView
        ``ok`` where nothing fails; `table` has all that was looked at.

    Examples
    --------
    >>> import ftlab
    >>> found = ftlab.doctor().table()
    >>> found[found["what"] == "float32 on cpu"]["health"].tolist()
    ['works']
    """
    looks = (
        *versions(),
        *devices(),
        *computing(),
        *machine(Path.cwd()),
        *environment(os.environ),
    )
    return DoctorView(tuple(looks))
