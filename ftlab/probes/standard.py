"""The probes that a watch has unless it is told otherwise."""

from ftlab.probes.activations import Activations
from ftlab.probes.adapters import Adapters
from ftlab.probes.batch import Batches
from ftlab.probes.between_updates import BetweenUpdates
from ftlab.probes.coarse_gradients import CoarseGradients
from ftlab.probes.compilations import Compilations
from ftlab.probes.compiled_calls import CompiledCalls
from ftlab.probes.copied_forwards import CopiedForwards
from ftlab.probes.drawn_starts import DrawnStarts
from ftlab.probes.four_bit import FourBit
from ftlab.probes.freezing_evaluations import FreezingEvaluations
from ftlab.probes.frozen_weights import FrozenWeights
from ftlab.probes.gradient_zeros import GradientZeros
from ftlab.probes.gradients import Gradients
from ftlab.probes.graph_flow import GraphFlow
from ftlab.probes.invocations import Invocations
from ftlab.probes.kept_moments import KeptMoments
from ftlab.probes.lasting import Lasting
from ftlab.probes.logits import Logits
from ftlab.probes.loss_inputs import LossInputs
from ftlab.probes.masked_rows import MaskedRows
from ftlab.probes.memory import Memory
from ftlab.probes.merge_by_hand import MergeByHand
from ftlab.probes.merge_loss import MergeLoss
from ftlab.probes.mode_teachers import TeacherModes
from ftlab.probes.models_on_one_base import ModelsOnOneBase
from ftlab.probes.modes import Modes
from ftlab.probes.moments import OptimizerMoments
from ftlab.probes.new_tokens import NewTokens
from ftlab.probes.origins import Origins
from ftlab.probes.piled_hooks import PiledHooks
from ftlab.probes.probe import Probe
from ftlab.probes.prompt_targets import PromptTargets
from ftlab.probes.put_back import PutBack
from ftlab.probes.rank_budget import RankBudget
from ftlab.probes.reference_passes import ReferencePasses
from ftlab.probes.running_statistics import RunningStatistics
from ftlab.probes.stale_casts import StaleCasts
from ftlab.probes.start_outputs import StartOutputs
from ftlab.probes.throughput import Throughput
from ftlab.probes.traced_modes import TracedModes
from ftlab.probes.trained_tokens import TrainedTokens
from ftlab.probes.unregistered import Unregistered
from ftlab.probes.updates import Updates
from ftlab.probes.vectors import Vectors
from ftlab.probes.weights import Weights


def standard_probes(*, interval: int = 16, activations: bool = False) -> list[Probe]:
    """Make a new set of probes for one run.

    Parameters
    ----------
    interval
        Steps between two measurements of what is too costly for every step: weights,
        zeros, adapters, updates, optimizer moments, activations. Gradients, batches,
        memory and time are measured at each step.
    activations
        Also measure the output of each leaf-like module.

    Examples
    --------
    >>> from ftlab.probes.standard import standard_probes
    >>> [probe.name for probe in standard_probes()]  # doctest: +ELLIPSIS
    ['gradients', 'gradient_zeros', 'weights', 'adapters', ...]
    """
    throughput = Throughput()
    probes: list[Probe] = [
        Gradients(),
        GradientZeros(interval),
        Weights(interval),
        Adapters(interval),
        Updates(interval),
        Lasting(interval),
        OptimizerMoments(interval),
        FrozenWeights(interval),
        FreezingEvaluations(),
        MergeLoss(interval),
        MergeByHand(),
        Batches(seconds_of=throughput.seconds_of),
        throughput,
        Memory(),
        Logits(interval),
        LossInputs(interval),
        Origins(interval),
        GraphFlow(interval),
        FourBit(),
        RankBudget(),
        Vectors(),
        Modes(interval),
        TeacherModes(interval),
        NewTokens(interval),
        MaskedRows(interval),
        Unregistered(interval),
        RunningStatistics(interval),
        PutBack(4 * interval),
        BetweenUpdates(),
        KeptMoments(),
        ReferencePasses(interval),
        PromptTargets(interval),
        StartOutputs(),
        DrawnStarts(),
        Invocations(),
        TrainedTokens(),
        CompiledCalls(),
        CopiedForwards(),
        TracedModes(interval),
        Compilations(),
        PiledHooks(interval),
        ModelsOnOneBase(),
        StaleCasts(),
        CoarseGradients(interval),
    ]
    if activations:
        probes.append(Activations(interval))
    return probes
