"""Ways to put a request to the code under test without a daemon.

Planner keeps one `plan_lines` process and asks it line by line; run_cli calls the
real `remat` program once. Both read the build folder from REMAT_BUILD.
"""
import json
import os
import select
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("REMAT_BUILD", "build/release"))
LEVEL = os.environ.get("REMAT_LEVEL", "quick")


def at_level(**counts):
    """How many at this level; under a sanitizer, which is some times slower, a fifth."""
    n = counts[LEVEL]
    return max(1, n // 5) if BUILD.endswith(("asan", "tsan")) else n



class EngineDied(Exception):
    """The process under test crashed, hung or broke the framing."""


class Answer:
    """kind is "plan", "no-plan" or "problem"; doc the decoded document."""

    def __init__(self, kind, raw, steps):
        self.kind, self.raw, self.steps = kind, raw, steps
        self.doc = json.loads(raw)


def request_text(graph_text, options=None):
    """One request line from the JSON text of a graph (any layout) and options."""
    options = {"explain": "full", **(options or {})}
    return '{"graph":%s,"options":%s}' % (graph_text.replace("\n", " "), json.dumps(options))


class LineProgram:
    """A running program of build/*/tests that answers each line of JSON on stdin with one on stdout."""

    def __init__(self, path, patience_s):
        self.path, self.patience_s, self.buffer = path, patience_s, b""

    def __enter__(self):
        self.process = subprocess.Popen([os.path.join(BUILD, self.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        text = self.process.stderr.read().decode(errors="replace")
        status = self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        if status != 0:
            raise EngineDied(f"{os.path.basename(self.path)} ended with {status}: {text[-3000:]}")

    def ask_line(self, line):
        """The answer to one line of text, decoded."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        pieces = []
        while b"\n" not in self.buffer:
            pieces.append(self.buffer)
            there = select.select([self.process.stdout], [], [], self.patience_s)[0]
            self.buffer = os.read(self.process.stdout.fileno(), 1 << 20) if there else b""
            if not self.buffer:
                self.process.kill()
                raise EngineDied("no answer: " + self.process.stderr.read().decode(errors="replace")[-3000:])
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(b"".join(pieces) + line)


class Planner:
    def __init__(self, program=None, timeout_s=60):
        self.program = program or os.path.join(BUILD, "tests/diff/plan_lines")
        self.timeout_s, self.process, self.buffer = timeout_s, None, b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def start(self):
        self.buffer = b""
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def close(self):
        """Ends the process; its exit status says whether it leaked under asan."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.stdin.close()
        text = process.stderr.read().decode(errors="replace")
        status = process.wait()
        process.stdout.close()
        process.stderr.close()
        if status != 0:
            raise EngineDied(f"plan_lines ended with {status}: {text[-3000:]}")

    def _die(self, why):
        process, self.process = self.process, None
        process.kill()
        _, text = process.communicate()
        raise EngineDied(f"plan_lines {why}: {text.decode(errors='replace')[-3000:]}")

    def _more(self):
        fd = self.process.stdout.fileno()
        if not select.select([fd], [], [], self.timeout_s)[0]:
            self._die(f"gave no answer within {self.timeout_s} s")
        data = os.read(fd, 1 << 20)
        if not data:
            self._die("went away")
        self.buffer += data

    def ask_text(self, line):
        """An Answer to a request line; raises EngineDied."""
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self._die("went away")
        while b"\n" not in self.buffer:
            self._more()
        head, self.buffer = self.buffer.split(b"\n", 1)
        kind, length, steps = head.decode().split()
        while len(self.buffer) < int(length):
            self._more()
        raw, self.buffer = self.buffer[:int(length)], self.buffer[int(length):]
        return Answer(kind, raw, int(steps))

    def ask(self, graph, options=None):
        return self.ask_text(request_text(json.dumps(graph), options))


def run_cli(graph_text, options=None, *flags):
    """(exit status, stdout, stderr) of `remat plan` on a document on stdin."""
    command = [os.path.join(BUILD, "remat"), "plan", *flags]
    if options:
        command += ["--options", json.dumps(options)]
    done = subprocess.run(command + ["-"], input=graph_text.encode(), capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()
