"""Makes tests/data/traces anew: `build/torch-venv/bin/python tests/data/make_traces.py`, with PyTorch 2.13.0.

NAME.graph.json.xz is the document of a joint graph, under the options that PyTorch had; NAME.min_cut_information.json.xz is what PyTorch
wrote to its structured trace about that decision, to the byte but for the folder of this repository in stack traces. `log` took the
longer way: a program run with TORCH_TRACE, and the artifact read out of the log file it leaves.
"""
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, *parts) for parts in (("proto", "python"), ("tests", "client"), ("tests", "support"))]
os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
FOLDER = os.path.join(ROOT, "tests", "data", "traces")

# name: family of models (tests/client/families.py), budget, solver, estimator
SAMPLES = {
    "llama": ("llama", 0.4, "dp", "flops"),
    "llama_sac": ("llama_sac", 0.3, "greedy", "flops"),
    "llama_dynamic": ("llama_dynamic", 0.5, "dp", "testing"),
    "resnet": ("resnet", 0.2, "dp_knapsack_sliding_hirschberg", "flops"),
    "dropout": ("gpt2", 0.5, "dp", "flops"),
}

LOGGED = """
import sys
sys.path[:0] = {paths!r}
import traces
traces.decide("bert", {{"activation_memory_budget": 0.3}}, in_log=True)
"""


def pack(name, kind, text):
    with lzma.open(os.path.join(FOLDER, f"{name}.{kind}.json.xz"), "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME,
                   check=lzma.CHECK_CRC32) as file:
        file.write(text.replace(ROOT + os.sep, ""))


def artifact_of(log):
    """The payload of the artifact in a structured trace: the lines behind its header that begin with a tab."""
    lines = iter(log.splitlines())
    for line in lines:
        found = re.search(r"\] (\{.*\})$", line)
        header = json.loads(found.group(1)) if found and '"min_cut_information"' in line else {}
        if header.get("artifact", {}).get("name") == "min_cut_information":
            payload = []
            for more in lines:
                if not more.startswith("\t"):
                    break
                payload.append(more[1:])
            return "\n".join(payload)
    raise SystemExit("there is no min_cut_information in the log")


def logged():
    with tempfile.TemporaryDirectory() as folder:
        program = textwrap.dedent(LOGGED).format(paths=sys.path[:3])
        subprocess.run([sys.executable, "-c", program], env={**os.environ, "TORCH_TRACE": folder}, check=True)
        (name,) = os.listdir(folder)
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return artifact_of(file.read())


def main():
    import traces

    os.makedirs(FOLDER, exist_ok=True)
    for name, (family, budget, solver, estimator) in SAMPLES.items():
        options = {"activation_memory_budget": budget, "activation_memory_budget_solver": solver,
                   "activation_memory_budget_runtime_estimator": estimator}
        document, artifact = next(made[1:] for made in traces.decide(family, options) if made[2] is not None)
        document["options"] = {**options, "compat": True}
        pack(name, "graph", json.dumps(document))
        pack(name, "min_cut_information", artifact)
        print(name, len(document["nodes"]), "nodes")
    pack("log", "min_cut_information", logged())


if __name__ == "__main__":
    main()
