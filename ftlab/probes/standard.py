"""The probes that a watch has unless it is told otherwise."""

from ftlab.probes.adapter.adapters import Adapters
from ftlab.probes.adapter.drawn_starts import DrawnStarts
from ftlab.probes.adapter.models_on_one_base import ModelsOnOneBase
from ftlab.probes.adapter.rank_budget import RankBudget
from ftlab.probes.adapter.start_outputs import StartOutputs
from ftlab.probes.adapter.vectors import Vectors
from ftlab.probes.attention.batch_attention import BatchAttention
from ftlab.probes.compilation.compilations import Compilations
from ftlab.probes.compilation.compiled_calls import CompiledCalls
from ftlab.probes.compilation.traced_modes import TracedModes
from ftlab.probes.contexts.lost_contexts import LostContexts
from ftlab.probes.frozen.freezing_evaluations import FreezingEvaluations
from ftlab.probes.frozen.frozen_weights import FrozenWeights
from ftlab.probes.frozen.running_statistics import RunningStatistics
from ftlab.probes.graph.copied_forwards import CopiedForwards
from ftlab.probes.graph.graph_flow import GraphFlow
from ftlab.probes.graph.origins import Origins
from ftlab.probes.graph.reference_passes import ReferencePasses
from ftlab.probes.holding.kept_outputs import KeptOutputs
from ftlab.probes.holding.leaks import Leaks
from ftlab.probes.loss.constant_terms import ConstantTerms
from ftlab.probes.loss.logits import Logits
from ftlab.probes.loss.loss_inputs import LossInputs
from ftlab.probes.loss.output_gradients import OutputGradients
from ftlab.probes.machine.memory import Memory
from ftlab.probes.machine.throughput import Throughput
from ftlab.probes.merging.merge_by_hand import MergeByHand
from ftlab.probes.merging.merge_loss import MergeLoss
from ftlab.probes.model.piled_hooks import PiledHooks
from ftlab.probes.model.unregistered import Unregistered
from ftlab.probes.modes.mode_teachers import TeacherModes
from ftlab.probes.modes.modes import Modes
from ftlab.probes.optimizer.between_updates import BetweenUpdates
from ftlab.probes.optimizer.kept_moments import KeptMoments
from ftlab.probes.optimizer.moments import OptimizerMoments
from ftlab.probes.optimizer.put_back import PutBack
from ftlab.probes.precision.coarse_gradients import CoarseGradients
from ftlab.probes.precision.lasting import Lasting
from ftlab.probes.precision.stale_casts import StaleCasts
from ftlab.probes.probe import Probe
from ftlab.probes.quantisation.four_bit import FourBit
from ftlab.probes.seeds.loader_starts import LoaderStarts
from ftlab.probes.seeds.rng_states import RngStates
from ftlab.probes.seeds.sample_digests import SampleDigests
from ftlab.probes.tensors.activations import Activations
from ftlab.probes.tensors.gradient_zeros import GradientZeros
from ftlab.probes.tensors.gradients import Gradients
from ftlab.probes.tensors.updates import Updates
from ftlab.probes.tensors.weights import Weights
from ftlab.probes.timing.step_times import StepTimes
from ftlab.probes.tokenizers.kept_prints import KeptPrints
from ftlab.probes.tokenizers.source_folder import SourceFolder
from ftlab.probes.tokenizers.tokenizer_prints import TokenizerPrints
from ftlab.probes.tokens.batch import Batches
from ftlab.probes.tokens.batch_checks import BatchChecks
from ftlab.probes.tokens.decoder_starts import DecoderStarts
from ftlab.probes.tokens.invocations import Invocations
from ftlab.probes.tokens.masked_rows import MaskedRows
from ftlab.probes.tokens.new_tokens import NewTokens
from ftlab.probes.tokens.pair_rows import PairRows
from ftlab.probes.tokens.prompt_targets import PromptTargets
from ftlab.probes.tokens.row_samples import RowSamples
from ftlab.probes.tokens.trained_tokens import TrainedTokens
from ftlab.probes.tokens.turn_samples import TurnSamples


def standard_probes(
    *, interval: int = 16, activations: bool = False, marks: bool = False
) -> list[Probe]:
    """Make a new set of probes for one run.

    Parameters
    ----------
    interval
        Steps between two measurements of what is too costly for every step: weights,
        zeros, adapters, updates, optimizer moments, activations. Gradients, batches,
        memory and time are measured at each step.
    activations
        Also measure the output of each leaf-like module.
    marks
        Also show steps, phases and modules to profilers.

    Examples
    --------
    >>> from ftlab.probes.standard import standard_probes
    >>> [probe.name for probe in standard_probes()]  # doctest: +ELLIPSIS
    ['gradients', 'gradient_zeros', 'weights', 'adapters', ...]
    """
    throughput = Throughput()
    updates = Updates(interval)
    probes: list[Probe] = [
        Gradients(),
        GradientZeros(interval),
        Weights(beside=updates),
        Adapters(interval),
        updates,
        Lasting(interval),
        OptimizerMoments(interval),
        FrozenWeights(interval),
        FreezingEvaluations(),
        MergeLoss(interval),
        MergeByHand(),
        Batches(seconds_of=throughput.seconds_of),
        throughput,
        Memory(),
        Leaks(),
        KeptOutputs(),
        StepTimes(marks=marks),
        LostContexts(),
        Logits(interval),
        LossInputs(interval),
        OutputGradients(interval),
        ConstantTerms(interval),
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
        RowSamples(interval),
        TurnSamples(interval),
        TokenizerPrints(interval),
        KeptPrints(),
        SourceFolder(interval),
        PairRows(interval),
        DecoderStarts(interval),
        CompiledCalls(),
        CopiedForwards(),
        TracedModes(interval),
        Compilations(),
        PiledHooks(interval),
        ModelsOnOneBase(),
        StaleCasts(),
        CoarseGradients(interval),
        BatchAttention(),
        BatchChecks(),
        SampleDigests(),
        RngStates(),
        LoaderStarts(),
    ]
    if activations:
        probes.append(Activations(interval))
    return probes
