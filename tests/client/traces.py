"""PyTorch's artifact min_cut_information beside the graph document that was decided. Needs PyTorch."""
import contextlib
import copy
import os
from unittest import mock

os.environ["AOT_PARTITIONER_DEBUG"] = "1"  # read once, when PyTorch's configuration is made

import families
import training
from rematd.export import export_graph
from torch._functorch import config as functorch_config
from torch._functorch import partitioners
from torch._functorch._activation_checkpointing import ac_logging_utils


class Recorder:
    """A partition_fn that is PyTorch's own, asked once for each of several settings; keeps what was decided and what was told of it.

    `made` are (settings, graph document, artifact as text, or None where PyTorch wrote none). `in_log`: PyTorch's own trace gets the
    artifacts too.
    """

    def __init__(self, settings, in_log=False):
        self.settings, self.in_log, self.made = settings, in_log, []

    def __call__(self, gm, joint_inputs, **kwargs):
        for settings in self.settings[1:]:
            self.decide(settings, copy.deepcopy(gm), joint_inputs, kwargs)
        return self.decide(self.settings[0], gm, joint_inputs, kwargs)

    def decide(self, settings, gm, joint_inputs, kwargs):
        graphs, texts = [], []

        def has_recomputable_ops(module):
            # The first look at a graph without dead code and common subexpressions.
            if not graphs:
                graphs.append(export_graph(module, num_fwd_outputs=kwargs["num_fwd_outputs"], stacks=True,
                                           static_lifetime_input_indices=kwargs.get("static_lifetime_input_indices")))
            return look(module)

        def trace_structured(kind, metadata_fn, payload_fn):
            assert metadata_fn()["name"] == "min_cut_information"
            texts.append(payload_fn())
            if self.in_log:
                trace(kind, metadata_fn=metadata_fn, payload_fn=payload_fn)

        trace = ac_logging_utils.trace_structured
        look = partitioners.has_recomputable_ops
        with contextlib.ExitStack() as patches:
            patches.enter_context(mock.patch.object(partitioners, "has_recomputable_ops", has_recomputable_ops))
            patches.enter_context(mock.patch.object(ac_logging_utils, "trace_structured", trace_structured))
            patches.enter_context(functorch_config.patch(**settings))
            made = training.OWN(gm, joint_inputs, **kwargs)
        self.made.append((settings, graphs[0], texts[0] if texts else None))
        return made


def decide(name, *settings, in_log=False):
    """Trains a family of models for a step under the first of these settings, and decides under each: what Recorder made."""
    assert partitioners.AOT_PARTITIONER_DEBUG, "PyTorch's configuration was made before this module"
    module, inputs, dynamic = families.make(name)
    recorder = Recorder(settings, in_log)
    training.train(module, inputs, training.backend(recorder), dynamic=dynamic)
    return recorder.made
