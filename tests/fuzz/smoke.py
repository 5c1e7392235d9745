"""Runs each fuzz target for a while from its seeds and prints how much of core and proto they cover.

  tests/fuzz/smoke.py [SECONDS]    30 by default; exit status 1 when a target found something
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import seeds

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build", "fuzz", "tests", "fuzz")
WORK = os.path.join(ROOT, "build", "fuzz", "work")
MOST_BYTES = {"decode": 20000, "graph": 3000, "solve": 300}


def targets():
    """{name: program}; one for each tests/fuzz/fuzz_*.c."""
    names = [os.path.basename(p)[:-2] for p in sorted(glob.glob(os.path.join(ROOT, "tests", "fuzz", "fuzz_*.c")))]
    return {name[5:]: os.path.join(BUILD, name) for name in names}


def run(name, program, seconds):
    """(name, exit status, executions, output)."""
    found = os.path.join(WORK, "found", name)
    os.makedirs(found, exist_ok=True)
    env = {**os.environ, "LLVM_PROFILE_FILE": os.path.join(WORK, name + ".profraw"),
           "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    command = [program, f"-max_total_time={seconds}", f"-max_len={MOST_BYTES.get(name, 4096)}", "-timeout=20", "-rss_limit_mb=2048",
               "-seed=1", "-print_final_stats=1", f"-artifact_prefix={WORK}/crash-{name}-", found, os.path.join(WORK, "seeds", name)]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds + 180)
    text = done.stdout.decode(errors="replace")
    units = re.search(r"number_of_executed_units: *(\d+)", text)
    return name, done.returncode, int(units.group(1)) if units else 0, text


def tool(name):
    for candidate in (name + "-14", name):
        if shutil.which(candidate):
            return candidate
    raise SystemExit(f"{name} is missing: install Debian's llvm")


def coverage(programs):
    """[(folder, lines, lines covered)] of core and proto by all targets together."""
    merged = os.path.join(WORK, "all.profdata")
    profiles = [os.path.join(WORK, name + ".profraw") for name in programs]
    subprocess.run([tool("llvm-profdata"), "merge", "-o", merged] + profiles, check=True)
    objects = list(programs.values())
    command = [tool("llvm-cov"), "export", "-summary-only", "-instr-profile", merged, objects[0]]
    command += [x for program in objects[1:] for x in ("-object", program)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    files = json.loads(done.stdout)["data"][0]["files"]
    out = []
    for folder in ("core", "proto"):
        counts = [f["summary"]["lines"] for f in files
                  if os.path.relpath(os.path.join(ROOT, f["filename"]), ROOT).startswith(folder + "/")]
        out.append((folder, sum(c["count"] for c in counts), sum(c["covered"] for c in counts)))
    return out


def smoke(seconds):
    """Runs everything; (list of failures, text to print)."""
    shutil.rmtree(WORK, ignore_errors=True)
    seeds.write(os.path.join(WORK, "seeds"))
    programs, failures, lines = targets(), [], []
    with ThreadPoolExecutor(2) as pool:
        for name, status, units, text in pool.map(lambda item: run(*item, seconds), programs.items()):
            lines.append(f"fuzz {name}: {units} inputs in {seconds} s" + ("" if status == 0 else f", FAILED with {status}"))
            if status != 0 or units < 100:
                failures.append(f"{name}: status {status}, {units} inputs\n{text[-3000:]}")
    for folder, n, covered in coverage(programs):
        lines.append(f"lines of {folder} covered by the fuzz targets: {covered} of {n} ({100 * covered // max(n, 1)} %)")
    return failures, "\n".join(lines)


if __name__ == "__main__":
    bad, report = smoke(int(sys.argv[1]) if sys.argv[1:] else 30)
    print(report)
    print("\n".join(bad))
    sys.exit(1 if bad else 0)
