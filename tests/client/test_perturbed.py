"""The decision from the exported document is the live one, whatever tags, placements and options a graph has."""
# level: full
# torch
import copy
import os
import random
import tempfile
import unittest

import support
import families
import rematd
import training
from rematd import counters
from torch._functorch import config as functorch_config
from torch.utils.checkpoint import CheckpointPolicy

POLICIES = [p for p in CheckpointPolicy if p.name in ("MUST_SAVE", "PREFER_SAVE", "PREFER_RECOMPUTE", "MUST_RECOMPUTE")]
SWITCHES = ("aggressive_recomputation", "recompute_views", "treat_parameters_as_free_to_save", "ban_recompute_used_far_apart",
            "ban_recompute_long_fusible_chains", "ban_recompute_materialized_backward", "ban_recompute_not_in_allowlist",
            "ban_recompute_reductions", "is_non_builtin_to_include", "unsafe_allow_optimization_of_collectives")
PER_FAMILY = 42 if support.TORTURE else 6
FAMILIES = ("llama_sac", "moe", "dropout_ac", "rnn", "batchnorm", "mutating", "dynamic", "vit", "bert", "llama_dynamic",
            "resnet", "unet", "t5")


def perturb(module, rng, seed):
    """Random tags on the nodes of a joint graph: none, in the manner of checkpointed regions, or noise."""
    mode = ("none", "regions", "noise")[seed % 3]
    if mode == "regions":
        for node in module.graph.nodes:
            node.meta.pop("recompute", None)
            if node.op == "call_function" and node.meta.get("partitioner_tag") == "is_forward":
                node.meta["recompute"] = CheckpointPolicy.PREFER_RECOMPUTE
                node.meta["ac_graph_id"] = len(node.name) // 4
                if rng.random() < 0.2 and node.meta.get("val") is not None and not isinstance(node.meta["val"], (tuple, list)):
                    node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
        return
    density = rng.choice((0.1, 0.5, 0.9)) if mode == "noise" else 0.0
    region = 0
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        region += rng.random() < 0.1
        if rng.random() < density:
            node.meta["recompute"] = rng.choice(POLICIES)
            if rng.random() < 0.8:
                node.meta["ac_graph_id"] = rng.choice((region, rng.randrange(4)))
        elif density and rng.random() < 0.3:
            node.meta.pop("recompute", None)
        if rng.random() < 0.03:
            node.meta["has_backward_hook"] = True
        if rng.random() < 0.03:
            node.meta["saved_tensor_with_no_vc_check"] = True
        if density and rng.random() < 0.02 and node.meta.get("partitioner_tag"):
            side = node.meta["partitioner_tag"].removeprefix("is_")
            node.meta["partitioner_tag"] = "must_be_in_" + side


def random_options(rng):
    options = {name: not getattr(functorch_config, name) for name in SWITCHES if rng.random() < 0.2}
    if rng.random() < 0.15:
        options["max_dist_from_bw"] = rng.choice((0, 3, 10))
    if rng.random() < 0.4:
        options["activation_memory_budget"] = rng.choice((0.0, 0.1, 0.3, 0.5, 0.8, 0.95))
        options["activation_memory_budget_solver"] = rng.choice(("dp", "greedy"))
        options["activation_memory_budget_runtime_estimator"] = rng.choice(("flops", "testing"))
    return options


def outcome(partition, module, inputs, kwargs):
    try:
        return training.code_of(partition(module, inputs, **kwargs))
    except rematd.NoPlan as error:
        return error.plan["outcome"]
    except RuntimeError as error:  # PyTorch's words for the same
        if "failed to partition the joint" not in str(error):
            raise
        return "infinite_flow"
    except AssertionError as error:
        if "was invalid, but is output" not in str(error):
            raise
        return "invalid_output"


class Perturbed(support.WithDaemon):
    def check(self, name):
        ours = self.partitioner(options={"compat": True})
        seen = {}

        def partition(gm, joint_inputs, **kwargs):
            for seed in range(PER_FAMILY):
                rng = random.Random(f"{name} {seed}")
                changed = copy.deepcopy(gm)
                perturb(changed, rng, seed)
                options = random_options(rng)
                with functorch_config.patch(**options):
                    own = outcome(training.OWN, copy.deepcopy(changed), joint_inputs, kwargs)
                    got = outcome(ours, changed, joint_inputs, kwargs)
                self.assertEqual(got, own, f"seed {seed} {options}")
                seen[own if isinstance(own, str) else "plan"] = seen.get(own if isinstance(own, str) else "plan", 0) + 1
            return training.OWN(gm, joint_inputs, **kwargs)

        module, inputs, dynamic = families.make(name)
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:  # PyTorch leaves files about graphs without an answer
            os.chdir(folder)
            try:
                training.train(module, inputs, training.backend(partition), dynamic=dynamic)
            finally:
                os.chdir(before)
        self.assertEqual(sum(seen.values()), PER_FAMILY, seen)
        self.assertGreater(seen.get("plan", 0), 0)
        self.assertEqual(counters.snapshot()["fallbacks"], 0)


def add(name):
    setattr(Perturbed, f"test_{name}", lambda self: self.check(name))


for family in FAMILIES:
    add(family)


if __name__ == "__main__":
    unittest.main()
