"""The verifier must catch faults in the solver on its own.

Each fault of faults.py is put into a copy of one core file; that file alone is compiled again and linked with the rest. The fault
is caught when a document of the sample is answered with internal-error, which only the verifier says. A crash, a hang or a wrong
answer that nobody complains about is not a catch.
"""
# level: full
# alone
import concurrent.futures
import json
import os
import subprocess
import sys
import unittest

import engine
import faults

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "diff")]

import data  # noqa: E402
import generate  # noqa: E402
import reference  # noqa: E402

OBJECTS = os.path.join(engine.ROOT, "build", "release")
WORK = os.path.join(engine.ROOT, "build", "faults")
AT_LEAST = 24


def opaque_symbol():
    """A symbol that is passed along as an object too, read by the backward: rare, so made by hand."""
    size = {"dtype": "uint8", "shape": [8]}
    call = lambda name, target, args, **more: {"name": name, "op": "call_function", "target": target, "args": args, **more}
    return {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "static_lifetime_inputs": [], "nodes": [
        {"name": "x", "op": "placeholder", "target": "primals_1", "val": size},
        {"name": "t", "op": "placeholder", "target": "tangents_1", "val": size},
        call("s", "aten.sym_size.int", ["%x", 0], val={"sym": "int", "hint": 8, "expr": "s0", "symbols": ["s0"]}, opaque=True),
        call("y", "aten.mm.default", ["%x", "%s"], val=size), call("g", "aten.mul.Tensor", ["%t", "%s"], val=size),
        {"name": "output", "op": "output", "target": "output", "args": ["%y", "%g"]}]}


def sample():
    """Request lines, small ones first: cases, random graphs, a few real ones."""
    generate.use_table(reference.TABLE)
    lines = []
    for name in data.case_names():
        lines.append(engine.request_text(data.case_graph_text(name), data.case_expected(name).get("options")))
    for seed in range(700_000, 700_150):
        document, options = generate.graph(seed)
        lines.append(engine.request_text(json.dumps(document), options))
    lines.append(engine.request_text(json.dumps(opaque_symbol())))
    lines.sort(key=len)
    for name in ("unet", "moe", "llama_2l_sac", "llama_2l_dynamic"):
        lines.append(engine.request_text(data.corpus_graph_text(name)))
    return lines


def read_core(file):
    with open(os.path.join(engine.ROOT, "core", file), encoding="utf-8") as f:
        return f.read()


def compile_fault(number, file, old, new):
    """The path of plan_lines with that fault inside."""
    text = read_core(file)
    folder = os.path.join(WORK, str(number))
    os.makedirs(folder, exist_ok=True)
    source, program = os.path.join(folder, file), os.path.join(folder, "plan_lines")
    with open(source, "w", encoding="utf-8") as f:
        f.write(text.replace(old, new))
    subprocess.run(["gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O1", "-ffp-contract=off", "-w", "-Icore", "-Icore/include",
                    "-c", "-o", source[:-1] + "o", source], check=True, cwd=engine.ROOT)
    libraries = subprocess.run(["pkg-config", "--libs", "jansson", "libcrypto"], capture_output=True, text=True, check=True)
    # The harmed object stands first, so the archive's own is never taken.
    subprocess.run(["gcc", "-o", program, os.path.join(OBJECTS, "tests/diff/plan_lines.o"), source[:-1] + "o",
                    os.path.join(OBJECTS, "libproto.a"), os.path.join(OBJECTS, "libremat.a")] + libraries.stdout.split(),
                   check=True, cwd=engine.ROOT)
    return program


def outcome(program, lines):
    """"caught", or what became of the fault instead."""
    crashes, problems = 0, 0
    planner = engine.Planner(program, timeout_s=5)
    try:
        for line in lines:
            try:
                answer = planner.ask_text(line)
            except engine.EngineDied:
                crashes += 1
                if crashes > 8:
                    break
                continue
            if answer.kind == "problem" and answer.doc["code"] == "internal-error":
                return "caught"
            problems += answer.kind == "problem"
    finally:
        try:
            planner.close()
        except engine.EngineDied:
            crashes += 1
    return f"not caught: {crashes} crashes or hangs, {problems} other problems in {len(lines)} documents"


def try_fault(job):
    number, (file, name, old, new), lines = job
    return file, name, outcome(compile_fault(number, file, old, new), lines)


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """What the unharmed solver is refused must not count as a catch."""
        cls.lines, cls.refused = [], []
        with engine.Planner(os.path.join(OBJECTS, "tests/diff/plan_lines")) as planner:
            for line in sample():
                answer = planner.ask_text(line)
                if answer.kind == "problem" and answer.doc["code"] == "internal-error":
                    cls.refused.append(answer.doc["detail"])
                else:
                    cls.lines.append(line)

    def test_the_solver_as_it_is_passes_its_verification(self):
        self.assertEqual(self.refused, [])
        self.assertGreater(len(self.lines), 150)

    def test_every_fault_still_applies(self):
        moved = [f"core/{file}: {name}: the text to replace occurs {read_core(file).count(old)} times, adapt the fault"
                 for file, name, old, _ in faults.FAULTS if read_core(file).count(old) != 1]
        self.assertEqual(moved, [])

    def test_the_verifier_catches_every_fault(self):
        self.assertGreaterEqual(len(faults.FAULTS), AT_LEAST)
        self.assertEqual(len({(f, new) for f, _, _, new in faults.FAULTS}), len(faults.FAULTS))
        jobs = [(i, fault, self.lines) for i, fault in enumerate(faults.FAULTS) if read_core(fault[0]).count(fault[2]) == 1]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(try_fault, jobs))
        missed = [f"{file}: {name}: {text}" for file, name, text in results if text != "caught"]
        print(f"{len(results) - len(missed)} of {len(results)} seeded faults caught by the verifier")
        self.assertEqual(missed, [])


if __name__ == "__main__":
    unittest.main()
