from typing import Any

from ftlab import faults as faults
from ftlab._version import __version__ as __version__
from ftlab.records.settings import options as options
from ftlab.replay.breakpoints import predicates as when
from ftlab.session.activations import activations as activations
from ftlab.session.adapters import adapters as adapters
from ftlab.session.assert_learning import assert_learning as assert_learning
from ftlab.session.bank import AdapterBank as AdapterBank
from ftlab.session.capture import capture as capture
from ftlab.session.checkpointing import Checkpoint as Checkpoint
from ftlab.session.compare import compare as compare
from ftlab.session.data import data as data
from ftlab.session.debugging.debug import debug as debug
from ftlab.session.debugging.snapshots import open_snapshot as open_snapshot
from ftlab.session.diff import diff as diff
from ftlab.session.doctor import doctor as doctor
from ftlab.session.explain import explain as explain, list_rules as list_rules
from ftlab.session.fingerprint import fingerprint as fingerprint
from ftlab.session.flow import flow as flow
from ftlab.session.gradcheck import gradcheck as gradcheck
from ftlab.session.masks import masks as masks
from ftlab.session.memory import memory as memory, memory_snapshot as memory_snapshot
from ftlab.session.model import model as model
from ftlab.session.open_run import open_run as open_run
from ftlab.session.preflight.preflight import preflight as preflight
from ftlab.session.profile import profile as profile
from ftlab.session.prove import prove as prove
from ftlab.session.release import release as release
from ftlab.session.roundtrip import roundtrip as roundtrip
from ftlab.session.safe_save import safe_load as safe_load, safe_save as safe_save
from ftlab.session.scope import scope as scope
from ftlab.session.score import score_faults as score_faults
from ftlab.session.swap import swap as swap
from ftlab.session.tokenizer_diff import tokenizer_diff as tokenizer_diff
from ftlab.session.tokenizer_files import tokenizer_files as tokenizer_files
from ftlab.session.tokens import tokens as tokens
from ftlab.session.watch import watch as watch

__all__ = [
    "AdapterBank",
    "Checkpoint",
    "activations",
    "adapters",
    "assert_learning",
    "capture",
    "compare",
    "debug",
    "diff",
    "doctor",
    "explain",
    "faults",
    "fingerprint",
    "flow",
    "gradcheck",
    "list_rules",
    "masks",
    "memory",
    "memory_snapshot",
    "open_run",
    "open_snapshot",
    "options",
    "preflight",
    "profile",
    "prove",
    "release",
    "roundtrip",
    "safe_load",
    "safe_save",
    "scope",
    "score_faults",
    "swap",
    "tokenizer_diff",
    "tokenizer_files",
    "tokens",
    "watch",
    "when",
]

def load_ipython_extension(shell: Any) -> None: ...
def unload_ipython_extension(shell: Any) -> None: ...
