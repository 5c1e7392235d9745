"""A program that answers a line of JSON with a line of JSON, kept running."""
import json
import os
import subprocess

import engine


class Lines:
    """`with Lines("tests/budget/knapsack_lines") as ask: ask(document)`; leaving checks that it ended well."""

    def __init__(self, program):
        self.path, self.process = os.path.join(engine.BUILD, program), None

    def __enter__(self):
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return self.ask

    def ask(self, document):
        self.process.stdin.write((json.dumps(document) if not isinstance(document, str) else document).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise engine.EngineDied(f"{self.path}: {self.process.stderr.read().decode(errors='replace')[-3000:]}")
        return json.loads(line)

    def __exit__(self, kind, *_):
        self.process.stdin.close()
        text = self.process.stderr.read().decode(errors="replace")
        status = self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        if status != 0 and kind is None:
            raise engine.EngineDied(f"{self.path} ended with {status}: {text[-3000:]}")
