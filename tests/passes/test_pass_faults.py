"""The tests of the passes must notice a fault in a pass.

Each fault is put into a copy of one file, which is compiled again and linked with the rest of core. It is noticed when a random graph
gets other tags than the reference says, or a rule's test fails.
"""
# level: full
import glob
import os
import subprocess
import unittest
from unittest import mock

import tagging
import test_passes_random
import test_passes_rules

import engine

OBJECTS = os.path.join(engine.ROOT, "build", "release")
WORK = os.path.join(engine.ROOT, "build", "pass-faults")
SEEDS = range(900_000, 900_300)
STAGE, FSDP, SAC = "pass_stage_recomputation.c", "pass_fsdp_all_gather.c", "pass_sac_policy.c"
REPAIR, SAVE, MODULES, SET = "pass_repair_tags.c", "pass_save.c", "pass_modules.c", "pass_set_tags.c"

RULES = (test_passes_rules.SacPolicy, test_passes_rules.Staging, test_passes_rules.AllGather, test_passes_rules.Repair,
         test_passes_rules.SetTags)

# (file, what, the text to find, what to put there)
FAULTS = [
    (SET, "a tag alone takes the region away", "if (set->keeps_region && set->tag.policy != REMAT_UNTAGGED)", "if (false)"),
    (SET, "a region is never written", "if (set->keeps_region && set->tag.policy != REMAT_UNTAGGED)", "if (true)"),
    (SET, "no tag keeps its region", "set->tag.has_region && set->tag.policy != REMAT_UNTAGGED;", "true;"),
    (SET, "the first tag is passed over", "for (uint32_t i = 0; i < w->pass->n_tags; i++)", "for (uint32_t i = 1; i < w->pass->n_tags; i++)"),
    (SET, "any policy is taken", "if (set->tag.policy >= REMAT_N_POLICIES)", "if (false)"),
    (STAGE, "backward nodes are staged", "g->specs[v]->placement != REMAT_IS_BACKWARD;", "true;"),
    (STAGE, "placeholders are staged", "g->specs[v]->op == REMAT_PLACEHOLDER)", "false)"),
    (STAGE, "what only outputs read is staged", "dist[v] >= REMAT_FAR ||", "dist[v] > REMAT_FAR ||"),
    (STAGE, "a getitem gets an initial tag", "remat_special(w->g, v) != REMAT_GETITEM)", "true)"),
    (STAGE, "prefer_recompute is forced", "return g->policy[v] == REMAT_MUST_RECOMPUTE;", "return g->policy[v] >= REMAT_PREFER_RECOMPUTE;"),
    (STAGE, "forced nodes hand nothing on", "reach[v] = is_forced(g, v) ? last : v;", "reach[v] = v;"),
    (STAGE, "everything hands on", "reach[v] = is_forced(g, v) ? last : v;", "reach[v] = last;"),
    (STAGE, "what dies at a forced node dies", "is_forced(g, last) ? REMAT_NONE : last;", "last;"),
    (STAGE, "a value dies before its last reader", "point < dies_at[v];", "point + 1 < dies_at[v];"),
    (STAGE, "a value is alive at the node it dies at", "point < dies_at[v];", "point <= dies_at[v];"),
    (STAGE, "the last of equal points is taken", "alive < stage.least)", "alive <= stage.least)"),
    (STAGE, "the last stage is left out", "    if (stage.cheapest != REMAT_NONE)\n        chosen", "    if (false)\n        chosen"),
    (STAGE, "a stage needs more than its size", "if (stage.n_bytes < full)", "if (stage.n_bytes <= full)"),
    (STAGE, "the marks overwrite other regions", "g->ac_graph_id[v] == REMAT_PASS_REGION)) {", "true)) {"),
    (STAGE, "marks write a region", "        g->policy[v] = REMAT_MUST_SAVE;\n", "        remat_pass_tag(w, v, REMAT_MUST_SAVE, REMAT_PASS_REGION);\n"),
    ("pass_root.c", "auto is half as large", "(double)((root >> 1) + (root & 1)) / 64;", "(double)((root >> 1) + (root & 1)) / 128;"),
    ("pass_autoparallel.c", "every mm is saved", "n_mm++ % 2 == 1)", "n_mm++ % 2 == 2)"),
    ("pass_autoparallel.c", "the even mms are saved", "n_mm++ % 2 == 1)", "n_mm++ % 2 == 0)"),
    ("pass_autoparallel.c", "the list of the pass is not used", "            listed[number] = true;", "            listed[number] = !pass->has_save;"),
    (FSDP, "gathered activations are taken", "    return is_chain[gather] ? gather : REMAT_NONE;", "    return gather;"),
    (FSDP, "only the gather's own input is looked at", "g->specs[input]->op == REMAT_PLACEHOLDER || is_chain[input];", "g->specs[input]->op == REMAT_PLACEHOLDER;"),
    (FSDP, "the chain is not followed", "        v = remat_first_user(g, v);\n    }\n}\n\nstatic enum remat_status gather_again",
     "        return;\n    }\n}\n\nstatic enum remat_status gather_again"),
    (FSDP, "the cast before the gather is left out", "remat_first_input(g, gather), cast_target))", "remat_first_input(g, gather), gather_target))"),
    (FSDP, "a split ends the chain", '"aten.split.Tensor"))', '"aten.split.sizes"))'),
    (FSDP, "any node joins the parts", 'cat != REMAT_NONE && remat_pass_calls(g, cat, "aten.cat.default")', "cat != REMAT_NONE"),
    (FSDP, "parts may have several users", "            remat_n_users(g, part) != 1)", "            remat_n_users(g, part) == 0)"),
    (FSDP, "views are kept", "remat_has_trait(g, v, REMAT_IS_VIEW_SCHEMA)", "false"),
    (FSDP, "the class view is taken for the schema", "remat_has_trait(g, v, REMAT_IS_VIEW_SCHEMA)", "remat_has_trait(g, v, REMAT_VIEW)"),
    (FSDP, "uses in the forward count", "placement != REMAT_MUST_BE_IN_FORWARD)", "placement != REMAT_N_PLACEMENTS)"),
    (SAC, "backward copies are tagged", "placement != REMAT_MUST_BE_IN_BACKWARD;", "true;"),
    (SAC, "matches are counted over all regions", "            count[number] = 0;", "            count[number] += 0;"),
    (SAC, "every counts from the second", "for (uint32_t i = 0; i < n; i += every)", "for (uint32_t i = every - 1; i < n; i += every)"),
    (SAC, "one entry of an operator wins", "    if (p->seen[begin + every - 1])", "    if (p->saved[begin])"),
    (SAC, "regions start over", "int64_t number = highest + 1 +", "int64_t number = 1 +"),
    (SAC, "the passes' region counts", "g->ac_graph_id[v] != REMAT_PASS_REGION)", "true)"),
    (SAC, "the passes' region is used", "               ? number + 1", "               ? number"),
    (SAC, "a getitem keeps no region", "    g->has_ac_graph_id[v] = g->has_ac_graph_id[source];", "    g->has_ac_graph_id[v] = false;"),
    (SAC, "tags are overwritten", "if (g->policy[v] != REMAT_UNTAGGED || !is_forward_call(g, v))", "if (!is_forward_call(g, v))"),
    (MODULES, "the root is not removed", "        return path + sizeof(root);", "        return path;"),
    (MODULES, "the whole path is the region", "            return covered;", "            return strlen(path);"),
    (MODULES, "a star is one character at least", "            behind_star = j;", "            behind_star = ++j;"),
    (MODULES, "a star is the end", "    return i == pattern.n;", "    return i == pattern.n || star != SIZE_MAX;"),
    (REPAIR, "a recomputed view is dropped", "        return is_getitem || remat_special(g, v) == REMAT_WAIT_TENSOR;", "        return true;"),
    (REPAIR, "a saved wait is dropped", "    return is_getitem ||\n", "    return is_getitem || remat_special(g, v) == REMAT_WAIT_TENSOR ||\n"),
    (REPAIR, "an untagged getitem counts as untagged", "            recomputed[v] = recomputed[source];", "            recomputed[v] = false;"),
    (SAVE, "unknown operators pass", "    if (!is_pytorchs || remat_operator_exists(target, &overloads))", "    if (!is_pytorchs || !remat_operator_exists(target, &overloads))"),
    ("opnames.c", "any overload will do", "    return *overloads != NULL && has_word(*overloads, dot + 1);", "    return *overloads != NULL;"),
    ("pass.c", "changes of the region alone are not reported", "           change->before.region != change->after.region;", "           false;"),
    ("pass.c", "regions without a tag stay", "            g->has_ac_graph_id[v] = false;", "            g->has_ac_graph_id[v] = g->has_ac_graph_id[v];"),
]


def read(file):
    with open(os.path.join(engine.ROOT, "core", file), encoding="utf-8") as f:
        return f.read()


def build(number, file, old, new):
    """The build folder of tags_lines with that fault inside."""
    folder = os.path.join(WORK, str(number))
    os.makedirs(os.path.join(folder, "tests/passes"), exist_ok=True)
    source = os.path.join(folder, file)
    with open(source, "w", encoding="utf-8") as f:
        f.write(read(file).replace(old, new))
    subprocess.run(["gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O1", "-w", "-Icore", "-Icore/include", "-c", "-o", source[:-1] + "o",
                    source], check=True, cwd=engine.ROOT)
    rest = [p[:-1] + "o" for p in sorted(glob.glob(os.path.join(engine.ROOT, "core", "*.c"))) if os.path.basename(p) != file]
    rest = [os.path.join(OBJECTS, "core", os.path.basename(p)) for p in rest]
    libraries = subprocess.run(["pkg-config", "--libs", "jansson", "libcrypto"], capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["gcc", "-o", os.path.join(folder, "tests/passes/tags_lines"), os.path.join(OBJECTS, "tests/passes/tags_lines.o"),
                    os.path.join(OBJECTS, "libproto.a"), source[:-1] + "o", *rest, *libraries, "-lpthread"], check=True, cwd=engine.ROOT)
    return folder


def noticed(folder):
    """Whether the tests of the passes fail on that build."""
    with mock.patch.object(engine, "BUILD", folder):
        result = unittest.TestResult()
        result.failfast = True
        load = unittest.defaultTestLoader.loadTestsFromTestCase
        unittest.TestSuite(map(load, RULES)).run(result)
        if not result.wasSuccessful():
            return "rules"
        try:
            with tagging.Tagger() as tagger:
                for seed in SEEDS:
                    if test_passes_random.check(tagger, *test_passes_random.case(seed), test_passes_random.collections.Counter()):
                        return "random graphs"
        except engine.EngineDied:
            return "a crash"
    return None


class Faults(unittest.TestCase):
    def test_every_fault_still_applies(self):
        self.assertEqual([f"core/{file}: {what}: occurs {read(file).count(old)} times" for file, what, old, _ in FAULTS
                          if read(file).count(old) != 1], [])

    def test_every_fault_is_noticed(self):
        self.assertIsNone(noticed(OBJECTS))
        by, missed = {}, []
        for number, (file, what, old, new) in enumerate(FAULTS):
            how = noticed(build(number, file, old, new))
            by.setdefault(how, []).append(what)
            if how is None:
                missed.append(f"core/{file}: {what}")
        print({how: len(whats) for how, whats in by.items()}, "by random graphs alone:", by.get("random graphs"))
        self.assertEqual(missed, [])


if __name__ == "__main__":
    unittest.main()
