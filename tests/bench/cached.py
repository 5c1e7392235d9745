#!/usr/bin/python3
"""Cached plans against the same bytes from the plainest libmicrohttpd server: requests a second, side by side.

Both answer the same POST with the same document, in turns, three times each; wrk asks over 16 connections. Report the ratio:
it means something on a busy machine too.
"""
import os
import re
import signal
import statistics
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = os.path.join(TOP, "build", "bench")
RELEASE = os.path.join(TOP, "build", "release")
SECONDS = 3
SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local file = io.open("{body}", "rb")
wrk.body = file:read("*a")
file:close()
"""
sys.path.insert(0, os.path.join(TOP, "tests", "support"))
import graphs  # noqa: E402


def start(*command):
    """A server and the port it says it listens on."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, int(re.search(r"(\d+)$", process.stdout.readline().strip()).group(1))


def requests_per_second(port, script):
    done = subprocess.run(["wrk", "-t1", "-c16", f"-d{SECONDS}s", "-s", script, f"http://127.0.0.1:{port}/v1/plans"],
                          check=True, text=True, stdout=subprocess.PIPE)
    if "Non-2xx" in done.stdout:
        raise SystemExit("cached.py: an answer was not 200:\n" + done.stdout)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout).group(1))


def first_plan(port, body):
    done = subprocess.run(["curl", "-sS", "--fail", "--json", "@" + body, f"http://127.0.0.1:{port}/v1/plans"], check=True,
                          stdout=subprocess.PIPE)
    return done.stdout


def measure(name, document):
    body, plan, script = (os.path.join(WORK, f"http_{name}.{end}") for end in ("json", "plan", "lua"))
    with open(body, "wb") as file:
        file.write(graphs.encode(document))
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT.format(body=body))
    daemon, port = start(os.path.join(RELEASE, "rematd"), "--listen", "127.0.0.1:0")
    with open(plan, "wb") as file:
        file.write(first_plan(port, body))
    peer, peer_port = start(os.path.join(RELEASE, "tests", "bench", "static_http"), plan)
    ours, theirs = [], []
    for _ in range(3):
        ours.append(requests_per_second(port, script))
        theirs.append(requests_per_second(peer_port, script))
    daemon.send_signal(signal.SIGTERM)
    peer.stdin.close()
    daemon.wait()
    peer.wait()
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    print(f"| {name} | {os.path.getsize(body):,} | {os.path.getsize(plan):,} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.2f} |")


def main():
    os.makedirs(WORK, exist_ok=True)
    print("\nCached plans over HTTP, requests a second, 16 connections:\n\n"
          "| graph | document, bytes | plan, bytes | rematd | static libmicrohttpd | ratio |\n|---|---|---|---|---|---|")
    measure("tiny", graphs.tiny())
    measure("chain_20", graphs.chain(20))
    measure("chain_200", graphs.chain(200))


main()
