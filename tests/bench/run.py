#!/usr/bin/python3
"""Makes the tables of `make bench` from the benchmark program and a daemon.

All numbers of a run come from the same minutes on the same machine. The times
PyTorch took stand in the corpus' expected files: another machine's, one noisy
run, for orientation. Nothing here judges: a slow machine is no failure.
"""
import http.client
import json
import lzma
import os
import signal
import statistics
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(TOP, "tests", "data", "corpus")
WORK = os.path.join(TOP, "build", "bench")
BENCH = os.path.join(TOP, "build", "release", "tests", "bench", "bench")
REMATD = os.path.join(TOP, "build", "rematd")
GRAPHS = ["llama_2l_sac", "llama_8b_8l", "llama_8b_8l_sac", "gpt2_4l_0",
          "t5_2l", "resnet18", "unet", "autoparallel_llama_3l_stage_auto",
          "ap_llama2l_1d_s2_acnone", "ap_dsv3_2l_s1_fsdp"]
CHAINS = ["chain:100000", "chain:1000000"]
WHY = [("llama_8b_8l_sac", "_unsafe_view_3"), ("gpt2_4l_0", "mm"), ("chain:100000", "m100")]
HTTP_SECONDS = 2.0
CORE = ["classify", "network", "flow", "extract", "verify"]
PHASES = ["decode", *CORE, "encode"]


def unpack(name, kind):
    with lzma.open(os.path.join(CORPUS, f"{name}.{kind}.json.xz")) as file:
        return file.read()


def unpack_graphs():
    """{name: path of the plain document}."""
    os.makedirs(WORK, exist_ok=True)
    files = {}
    for name in GRAPHS:
        files[name] = os.path.join(WORK, name + ".json")
        with open(files[name], "wb") as file:
            file.write(unpack(name, "graph"))
    return files


def reference_seconds(name):
    return json.loads(unpack(name, "expected"))["results"]["default"].get(
        "reference_s")


def bench(command, graphs):
    """Runs the program; {graph: its line}."""
    done = subprocess.run([BENCH, command, *graphs], check=True, text=True,
                          stdout=subprocess.PIPE)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {os.path.basename(line["graph"]).removesuffix(".json"): line
            for line in lines}


def http_median_ns(files):
    """Median of whole requests over one kept-alive connection."""
    daemon = subprocess.Popen(
        [REMATD, "--listen", "127.0.0.1:0", "--data", ":memory:"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = daemon.stdout.readline().strip().rsplit("/", 1)[1]
        connection = http.client.HTTPConnection(address, timeout=60)
        return {name: http_samples(connection, path)
                for name, path in files.items()}
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(60)


def http_samples(connection, path):
    with open(path, "rb") as file:
        body = file.read()
    samples, end = [], time.monotonic() + HTTP_SECONDS
    while len(samples) < 3 or time.monotonic() < end:
        begin = time.perf_counter_ns()
        connection.request("POST", "/v1/plans", body,
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        samples.append(time.perf_counter_ns() - begin)
        if answer.status != 200:
            raise SystemExit(f"{path}: HTTP {answer.status}")
    return statistics.median(samples)


def ms(ns):
    return f"{ns / 1e6:.3f}" if ns < 1e8 else f"{ns / 1e6:.0f}"


def table(title, head, rows):
    """A Markdown table with aligned columns."""
    rows = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    print(f"\n{title}\n")
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])] + [
            cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def flow_table(files):
    lines = bench("flow", [*files.values(), *CHAINS])
    rows = []
    for name, line in lines.items():
        if line["samples"] == 0:
            rows.append([name, line["vertices"], line["edges"]]
                        + ["no flow"] + [""] * 5)
            continue
        ours = line["ours_ns"] + line["ours_layout_ns"]
        peer = line["peer_ns"] + line["peer_layout_ns"]
        rows.append([name, line["vertices"], line["edges"],
                     ms(line["ours_ns"]), ms(line["peer_ns"]),
                     f"{line['peer_ns'] / line['ours_ns']:.2f}",
                     ms(ours), ms(peer), f"{peer / ours:.2f}"])
    table("Maximum flow in ms, ours against Boost's Boykov-Kolmogorov on the "
          "same arrays (-O2, alternating runs, medians; peer/ours above 1: ours "
          "is faster)",
          ["graph", "vertices", "edges", "ours", "peer", "peer/ours",
           "ours with layout", "peer with layout", "peer/ours"], rows)


def budget_table(files):
    """Where PyTorch's decision under a budget was recorded."""
    known = {}
    for name, path in files.items():
        result = json.loads(unpack(name, "expected"))["results"].get(
            "budget_0.5_dp_flops", {})
        if "reference_s" in result:
            known[name] = (path, result["reference_s"] * 1e9)
    paths = [path for path, _ in known.values()]
    budgets, frontiers = bench("budget", paths), bench("frontier", paths)
    rows = []
    for name, (_, reference) in known.items():
        budget = budgets[name]["total_ns"]
        frontier = frontiers[name]["total_ns"]
        rows.append([name, ms(reference), ms(budget),
                     f"{reference / budget:.0f}", ms(frontier),
                     f"{reference / frontier:.0f}"])
    table("The budget 0.5 in ms, and the whole frontier, as whole requests, "
          "against PyTorch's decision for the one budget (orientation)",
          ["graph", "PyTorch, one budget", "one budget", "x", "frontier", "x"],
          rows)


def request_tables(files):
    lines = bench("request", [*files.values(), *CHAINS])
    http_ns = http_median_ns(files)
    rows = []
    for name in files:
        line, reference = lines[name], reference_seconds(name)
        core = sum(line[phase + "_ns"] for phase in CORE)
        cells = [name, line["nodes"], ms(core), ms(line["total_ns"]),
                 ms(http_ns[name])]
        if reference:
            cells += [f"{reference * 1e3:.0f}",
                      *(f"{reference * 1e9 / ns:.0f}"
                        for ns in (core, line["total_ns"], http_ns[name]))]
        rows.append(cells + [""] * (9 - len(cells)))
    table("One decision in ms, and how many times faster than PyTorch's own "
          "(core: no JSON; request: decode to encode; HTTP: kept-alive "
          "connection, JSON both ways)",
          ["graph", "nodes", "core", "request", "HTTP", "PyTorch",
           "core x", "request x", "HTTP x"], rows)
    rows = [[name, line["nodes"], f"{line['bytes'] / 2**20:.1f}",
             f"{line['memory_bytes'] / 2**20:.0f}",
             *(ms(line[phase + "_ns"]) for phase in PHASES),
             ms(line["total_ns"])] for name, line in lines.items()]
    table("Where the time of a request goes, in ms (the document and the peak "
          "of memory in MiB)",
          ["graph", "nodes", "document", "memory", *PHASES, "total"], rows)


def why_table(files):
    """Explaining a node solves up to three plans, a what-if two; what they cost beside one plan request."""
    rows = []
    for graph, node in WHY:
        done = subprocess.run([BENCH, "why", files.get(graph, graph), node], check=True, text=True, stdout=subprocess.PIPE)
        line = json.loads(done.stdout)
        rows.append([graph, node, ms(line["plan_ns"]), ms(line["explain_ns"]), f"{line['explain_ratio']:.2f}",
                     f"{3 / line['explain_ratio']:.2f}", ms(line["what_if_ns"]), f"{line['what_if_ratio']:.2f}",
                     f"{2 / line['what_if_ratio']:.2f}"])
    table("A node explained (with both its choices) and a what-if, in ms, as "
          "whole requests beside plan requests in turn; from scratch they are "
          "three and two plan requests",
          ["graph", "node", "plan", "explain", "explain/plan", "3 plans/explain",
           "what-if", "what-if/plan", "2 plans/what-if"], rows)


def main():
    files = unpack_graphs()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = [line.split(":", 1)[1].strip() for line in file
                 if line.startswith("model name")]
    print(f"machine: {len(model)} x {model[0] if model else 'unknown'}")
    flow_table(files)
    budget_table(files)
    request_tables(files)
    why_table(files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
