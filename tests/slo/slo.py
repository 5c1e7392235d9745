#!/usr/bin/env python3
"""Runs the scenarios three times at size and writes the figures, with their date and machine, into tests/slo/RESULTS.md."""
import datetime
import os
import platform
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import scenarios  # noqa: E402

RUNS = 3
WHAT = (
    ("overload", "Three times the closed-loop peak, open loop, 10 s (aim: goodput 70 % of the peak, normal within 10 s)", {}),
    ("slow_clients", "1,000 connections that say nothing or a byte a second (aim: 90 % of the throughput)", {}),
    ("sigterm", "100 SIGTERMs under load: everything read is answered, exit 0", {"rounds": 100}),
)


def table(runs):
    rows = ["| figure | " + " | ".join(f"run {i + 1}" for i in range(len(runs))) + " | median |",
            "|---|" + "---|" * (len(runs) + 1)]
    for key in runs[0]:
        values = [run[key] for run in runs]
        rows.append(f"| {key} | " + " | ".join(f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
                                              for value in [*values, statistics.median(values)]) + " |")
    return "\n".join(rows)


def main():
    text, wrong = [], []
    for name, title, arguments in WHAT:
        runs = []
        for _ in range(RUNS):
            figures, faults = getattr(scenarios, name)(**arguments)
            runs.append(figures)
            wrong += faults
            print(name, figures, faults[:3], flush=True)
        text.append(f"### {title}\n\n{table(runs)}\n")
    text.append("Nothing went wrong." if not wrong else "What went wrong:\n" + "\n".join(f"- {fault}" for fault in wrong[:20]))
    head = (f"# What the service did\n\nWritten by `make slo`. The generator shares the {os.cpu_count()} cores with the daemon.\n\n"
            f"## {datetime.date.today().isoformat()}, {platform.machine()}, {os.cpu_count()} cores\n\n")
    with open(os.path.join(HERE, "RESULTS.md"), "w", encoding="utf-8") as file:
        file.write(head + "\n".join(text) + "\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
