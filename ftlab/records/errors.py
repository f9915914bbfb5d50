"""Every error and warning that ftlab raises by itself.

Errors of the user's own code are never wrapped: they pass through untouched.
"""


class FtlabError(Exception):
    """Base of every error that ftlab raises on purpose."""


class AttachError(FtlabError):
    """The model, optimizer or trainer that was passed cannot be watched as asked."""


class RunFolderError(FtlabError):
    """A run folder exists, is missing, is no run, or cannot be written."""


class SchemaError(RunFolderError):
    """A run was written by a newer schema than this ftlab can read."""


class CheckpointError(FtlabError):
    """A checkpoint cannot be written, or is damaged; the message names the file."""


class NotPausedError(FtlabError):
    """A debugger command was sent while the training is not paused."""


class NotReplayableError(FtlabError):
    """A step cannot be executed again; the message names what stands in the way."""


class UnknownNameError(FtlabError):
    """A metric, table, rule or probe has no such name; the message lists near ones."""


class TrainingStoppedError(FtlabError):
    """An automatic response that the user chose has stopped the training."""


class ReleasedError(FtlabError):
    """A model is used that `ftlab.release` has taken the weights of."""


class NotLearningError(FtlabError, AssertionError):
    """A parameter that should learn was not updated; the message names it and why."""


class BadValueError(FtlabError, ValueError):
    """An argument has a value that is not allowed; the message lists what is."""


class FtlabWarning(UserWarning):
    """Something of ftlab failed or was refused; training goes on."""


class DamageWarning(FtlabWarning):
    """A part of a run's folder cannot be read and was left out; the rest is shown."""
