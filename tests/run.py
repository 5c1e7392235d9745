#!/usr/bin/env python3
"""Runs the test suites and counts test functions.

  tests/run.py [--level quick|full|torture] [--variants asan,tsan] [NAME…]

A suite is a C program build/VARIANT/tests/{core,proto,server}/test_* (Check) or a Python file tests/*/test_*.py (unittest). NAME keeps
only suites whose name contains it. A Python file says in its first lines when it runs: "# level: quick" (the default), "full" or
"torture"; and with which sanitizers besides the release build: "# variants: asan tsan". C suites run under
every one; short of torture, under tsan only those with threads. One suite more than there are processors runs at a time, as many of
them wait; those that say "# alone" have the machine to themselves.
Suites that say "# torch" run in the environment of `make deps-torch`, which is made when it is not there (REMAT_TORCH_PYTHON names
another interpreter); suites that say "# tools" in that of deploy/test-tools.sh, likewise.

A test function that runs in several builds counts once and passes only if it passes in each. Under CI=true a skipped test counts
as failed. The last line is "N passed, N failed"; the exit status is 0 only if nothing failed.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS_PYTHON = os.path.join(ROOT, "build", "tools", "venv", "bin", "python")
LEVELS = ("quick", "full", "torture")
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
Result = collections.namedtuple("Result", "name outcome text")


# ---- inside a Python suite's own process ------------------------------------

class LogResult(unittest.TestResult):
    """Writes a JSON line per test function."""

    def __init__(self, log):
        super().__init__()
        self.log, self.bad, self.skip, self.began = log, [], None, (0.0, 0.0)

    def startTest(self, test):
        super().startTest(test)
        self.bad, self.skip, self.began = [], None, (time.monotonic(), processor_seconds())

    def addError(self, test, err):
        super().addError(test, err)
        self.bad.append(self.errors[-1][1])
        if not isinstance(test, unittest.TestCase):  # setUpClass and friends
            self.write(str(test), FAILED, self.bad[-1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.bad.append(self.failures[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            pair = self.failures if issubclass(err[0], test.failureException) else self.errors
            self.bad.append(f"{subtest}\n{pair[-1][1]}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.skip = reason
        if not isinstance(test, unittest.TestCase):
            self.write(str(test), SKIPPED, reason)

    def addExpectedFailure(self, test, err):
        self.bad.append("an expected failure is a failure")

    def stopTest(self, test):
        super().stopTest(test)
        name = ".".join(test.id().split(".")[-2:])
        if self.bad:
            self.write(name, FAILED, say_problems(self.bad))
        elif self.skip is not None:
            self.write(name, SKIPPED, self.skip)
        else:
            self.write(name, PASSED, "")

    def write(self, name, outcome, text):
        if os.environ.get("REMAT_TIMES"):
            print(f"{time.monotonic() - self.began[0]:6.1f} s, {processor_seconds() - self.began[1]:6.1f} s of processor: {name}")
        self.log.write(json.dumps([name, outcome, text[-6000:]]) + "\n")
        self.log.flush()


def say_problems(problems):
    """The ends of the first few, where the reasons stand: one problem often makes the next."""
    return f"{len(problems)} problems\n" + "\n".join(text[-1900:] for text in problems[:3])


def processor_seconds():
    """Of this process and what it waited for."""
    return sum(os.times()[:4])


def run_python_file(path, log_path):
    sys.path[:0] = [os.path.dirname(os.path.abspath(path)), os.path.join(ROOT, "tests", "support")]
    module_name = os.path.splitext(os.path.basename(path))[0]
    with open(log_path, "w", encoding="utf-8") as log:
        tests = unittest.defaultTestLoader.loadTestsFromName(module_name)
        result = LogResult(log)
        tests.run(result)
    return 0 if result.wasSuccessful() else 1


# ---- suites -------------------------------------------------------------------

class Suite:
    """One process that runs test functions and leaves a log of them."""

    def __init__(self, kind, name, path, variant, tool=(), alone=False, torch=False, tools=False, calls_make=False):
        self.kind, self.name, self.path, self.variant, self.tool = kind, name, path, variant, list(tool)
        self.alone, self.torch, self.tools, self.calls_make = alone, torch, tools, calls_make

    @property
    def title(self):
        extra = f" [{'valgrind' if self.tool else self.variant}]"
        return self.name + ("" if extra == " [release]" else extra)

    def command(self, log_path):
        if self.kind == "python":
            python = [torch_python(), "-W", "ignore"] if self.torch else [TOOLS_PYTHON if self.tools else sys.executable]
            return python + [os.path.abspath(__file__), "--file", self.path, log_path]
        return self.tool + [self.path]

    def environment(self, level, log_path):
        env = {**SANITIZERS, **os.environ, "REMAT_LEVEL": level, "REMAT_BUILD": f"build/{self.variant}",
               "REMAT_VARIANT": self.variant, "PYTHONDONTWRITEBYTECODE": "1", "CK_TAP_LOG_FILE_NAME": log_path}
        slow = self.variant != "release" or self.tool
        env.setdefault("CK_TIMEOUT_MULTIPLIER", "20" if slow else "2")
        if self.tool:
            env["CK_FORK"] = "no"
        return env

    def results(self, log_path):
        read = python_results if self.kind == "python" else tap_results
        try:
            with open(log_path, encoding="utf-8", errors="replace") as f:
                return read(f.read())
        except FileNotFoundError:
            return []


def python_results(text):
    return [Result(*json.loads(line)) for line in text.splitlines()]


def tap_results(text):
    """One result per test function; a loop test's runs are joined."""
    found = {}
    for ok, name, message in re.findall(r"^(ok|not ok) \d+ - ([^\n]*?): ((?:.|\n(?!ok |not ok |\d+\.\.))*)", text, re.M):
        name = ":".join(name.split(":")[1:])
        outcome = PASSED if ok == "ok" else FAILED
        if name not in found or outcome == FAILED:
            found[name] = Result(name, outcome, message.strip())
    return list(found.values())


def header(path):
    """Level and variants a Python file asks for, and whether it wants to run alone."""
    with open(path, encoding="utf-8") as f:
        text = "".join(line for line, _ in zip(f, range(25)))
    level = re.search(r"^# level: (\w+)$", text, re.M)
    variants = re.search(r"^# variants: ([\w ]+)$", text, re.M)
    level = level.group(1) if level else "quick"
    if level not in LEVELS:
        raise SystemExit(f"{path}: level {level}, expected one of {LEVELS}")
    return level, variants.group(1).split() if variants else [], re.search(r"^# alone$", text, re.M) is not None


def says(path, word):
    with open(path, encoding="utf-8") as f:
        return any(line == f"# {word}\n" for line, _ in zip(f, range(25)))


def torch_python():
    return os.environ.get("REMAT_TORCH_PYTHON") or os.path.join(ROOT, "build", "torch-venv", "bin", "python")


def install_torch():
    if not os.environ.get("REMAT_TORCH_PYTHON"):
        subprocess.run(["make", "--no-print-directory", "-s", "deps-torch"], cwd=ROOT, stdin=subprocess.DEVNULL, check=True)


def install_tools():
    subprocess.run(["sh", "deploy/test-tools.sh"], cwd=ROOT, stdin=subprocess.DEVNULL, check=True)


def name_of(path, root):
    return os.path.splitext(os.path.relpath(path, root))[0]


def c_suites(variant, level, tool=()):
    root = os.path.join(ROOT, "build", variant, "tests")
    sources = sorted(glob.glob(os.path.join(ROOT, "tests", "core", "test_*.c")) +
                     glob.glob(os.path.join(ROOT, "tests", "proto", "test_*.c")) +
                     glob.glob(os.path.join(ROOT, "tests", "server", "test_*.c")))
    if variant == "tsan" and level != "torture":
        sources = [path for path in sources if has_threads(path)]
    names = [name_of(path, os.path.join(ROOT, "tests")) for path in sources]
    return [Suite("c", name, os.path.join(root, name), variant, tool) for name in names]


def has_threads(path):
    with open(path, encoding="utf-8") as f:
        return "pthread" in f.read()


def python_suites(level, variants):
    out = []
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "*", "test_*.py"))):
        own_level, own_variants, alone = header(path)
        if LEVELS.index(own_level) > LEVELS.index(level):
            continue
        for variant in ["release"] + [v for v in own_variants if v in variants]:
            out.append(Suite("python", name_of(path, os.path.join(ROOT, "tests")), path, variant, alone=alone, torch=says(path, "torch"),
                             tools=says(path, "tools"), calls_make=calls_make(path)))
    return out


def calls_make(path):
    """Suites about the build itself must not meet each other in the build folder."""
    return os.path.basename(os.path.dirname(path)) in ("deploy", "docs", "layers")


VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect,possible"]


def all_suites(level, variants):
    suites = c_suites("release", level)
    for variant in variants:
        if variant == "valgrind":
            suites += c_suites("release", level, VALGRIND)
        else:
            suites += c_suites(variant, level)
    return suites + python_suites(level, variants)


# ---- running ------------------------------------------------------------------

RUNNING = set()  # process groups, so that nothing outlives an interrupted run


def end_everything(signum, _frame):
    for group in list(RUNNING):
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os._exit(128 + signum)


def run_process(suite, level, log_path, timeout_s):
    """(why it failed as a whole or None, its output, seconds of processor that it took with all it waited for)."""
    with tempfile.TemporaryFile() as out:
        try:
            process = subprocess.Popen(suite.command(log_path), env=suite.environment(level, log_path), cwd=ROOT,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as e:
            return f"cannot run: {e}", "", 0.0
        RUNNING.add(process.pid)
        late = threading.Event()
        timer = threading.Timer(timeout_s, end_late, (process.pid, late))
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        RUNNING.discard(process.pid)
        why = f"ended with status {process.returncode}" if process.returncode else None
        if late.is_set():
            why = f"took longer than {timeout_s} s"
        out.seek(0)
        return why, out.read().decode(errors="replace"), usage.ru_utime + usage.ru_stime


def end_late(group, late):
    late.set()
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        late.clear()  # it ended in time after all


def indent(text, n_lines=60):
    lines = text.rstrip().splitlines()
    if len(lines) > n_lines:
        lines = lines[:n_lines // 2] + ["…"] + lines[-n_lines // 2:]
    return "\n".join("      " + line for line in lines)


class Tally:
    """Outcome of every test function; the worst one of several runs counts."""

    def __init__(self, strict):
        self.worst, self.strict = {}, strict

    def add(self, suite, result):
        outcome = FAILED if result.outcome == SKIPPED and self.strict else result.outcome
        key, rank = f"{suite.name}::{result.name}", (PASSED, SKIPPED, FAILED)
        if rank.index(outcome) >= rank.index(self.worst.get(key, PASSED)):
            self.worst[key] = outcome
        return outcome

    def count(self, outcome):
        return sum(o == outcome for o in self.worst.values())


def report(done, tally):
    """Prints what became of a suite. REMAT_TIMES=1: how long each test function of a Python suite took, too."""
    suite, results = done.suite, done.results
    outcomes = [tally.add(suite, r) for r in results]
    if not results:
        tally.add(suite, Result("(ran nothing)", FAILED, ""))
        print(f"FAIL {suite.title}: no test function ran; {done.why or 'no tests in it'}\n{indent(done.output)}", flush=True)
        return
    if done.why and FAILED not in outcomes:  # a leak report at exit, a crash after the last test
        outcomes.append(tally.add(suite, Result("(the process)", FAILED, done.why)))
        print(f"FAIL {suite.title}: every test passed, but the process {done.why}\n{indent(done.output)}", flush=True)
    bad = FAILED in outcomes
    if bad and suite.kind == "c":
        print(indent(done.output), flush=True)
    print(f"{'FAIL' if bad else 'ok  '} {suite.title} ({len(results)} tests, {done.seconds:.1f} s, {done.cpu_seconds:.1f} s of processor)",
          flush=True)
    for r, outcome in zip(results, outcomes):
        if outcome != PASSED:
            print(f"     {r.outcome.upper()} {r.name}\n{indent(r.text)}", flush=True)
    if suite.kind == "python" and done.output.strip():
        print(indent(done.output), flush=True)


Done = collections.namedtuple("Done", "suite why output results seconds cpu_seconds")


def run_suite(suite, level, folder):
    log_path, start = os.path.join(folder, f"{id(suite)}.log"), time.monotonic()
    timeout_s = {"quick": 600, "full": 900, "torture": 6 * 3600}[level]
    why, output, cpu_seconds = run_process(suite, level, log_path, timeout_s)
    return Done(suite, why, output, suite.results(log_path), time.monotonic() - start, cpu_seconds)


def rows(suites):
    """(what runs with nothing beside it, what runs in parallel): rows of suites that follow each other. Python first, the short C
    suites then fill the end; those that call make are one row, as they must not meet in the build folder."""
    rest = sorted((s for s in suites if not s.alone), key=lambda s: s.kind != "python")
    makers = [s for s in rest if s.calls_make]
    return [[s] for s in suites if s.alone], [makers] * bool(makers) + [[s] for s in rest if not s.calls_make]


def run_all(suites, level, strict, jobs):
    tally, printing = Tally(strict), threading.Lock()

    def run_row(row):
        for suite in row:
            done = run_suite(suite, level, folder)
            with printing:
                report(done, tally)

    with tempfile.TemporaryDirectory() as folder:
        for group, workers in zip(rows(suites), (1, jobs)):
            with concurrent.futures.ThreadPoolExecutor(workers) as pool:
                for future in [pool.submit(run_row, row) for row in group]:
                    future.result()
    return conclude(tally)


def conclude(tally):
    skipped, failed = tally.count(SKIPPED), tally.count(FAILED)
    if failed:
        print("failed: " + ", ".join(sorted(k for k, o in tally.worst.items() if o == FAILED)))
    if skipped:
        print(f"skipped: {skipped} (CI=true counts them as failed)")
    print(f"{tally.count(PASSED)} passed, {failed} failed", flush=True)
    return 1 if failed or not tally.worst else 0


def main(argv):
    if argv[:1] == ["--file"]:
        return run_python_file(argv[1], argv[2])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--level", choices=LEVELS, default="quick")
    parser.add_argument("--variants", default="", help="comma-separated: asan, tsan, valgrind")
    parser.add_argument("--jobs", type=int, default=1 + (os.cpu_count() or 1), help="suites at a time; by default one more than processors, as "
                        "many wait for daemons, browsers and downloads")
    parser.add_argument("--list", action="store_true", help="only name the suites")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, end_everything)
    signal.signal(signal.SIGINT, end_everything)
    variants = [v for v in args.variants.split(",") if v]
    suites = [s for s in all_suites(args.level, variants) if not args.names or any(n in s.name for n in args.names)]
    if args.names and not suites:
        parser.error(f"no suite of level {args.level} has {' or '.join(args.names)} in its name; --list names them all, "
                     f"--level torture --list also the long ones")
    if args.list:
        print("\n".join(s.title for s in suites))
        return 0
    if any(s.torch for s in suites):
        install_torch()
    if any(s.tools for s in suites):
        install_tools()
    return run_all(suites, args.level, os.environ.get("CI") == "true", args.jobs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
