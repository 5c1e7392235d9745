"""``python -m rematd``: asks a service from the command line, and reads printed joint graphs. Needs no PyTorch.

    plan FILE|-        the plan of a graph document (JSON, or --format text)
    explain FILE|- [NODE]  why a node is saved, computed again or neither, and what each other choice costs; without NODE
                       all saved values and why
    report FILE|-      the HTML report of a graph, or of an artifact min_cut_information of PyTorch's logs
    convert FILE|-     a printed joint graph (TORCH_LOGS=aot_joint_graph) as a graph document

Exit status: 0 done, 1 bad input, 2 usage, 3 the graph has no answer, 4 the service gave none.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any
from urllib.parse import quote

from rematd._version import __version__
from rematd.client import Client
from rematd.convert import ConvertError, convert
from rematd.errors import Problem, Unavailable, WrongAnswer
from rematd.http import Answer
from rematd.settings import Settings

BAD_INPUT, USAGE, NO_PLAN, NO_ANSWER = 1, 2, 3, 4


class _BadInput(Exception):
    pass


def _parser() -> argparse.ArgumentParser:
    about, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(prog="python -m rematd", description=about, epilog=more,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, about in (("plan", "the plan of a graph document"), ("explain", "why a node is what it is"),
                        ("report", "the HTML report of a graph")):
        command = commands.add_parser(name, help=about)
        command.add_argument("file", metavar="FILE|-")
        command.add_argument("--url", help="of the service (REMATD_URL, http://127.0.0.1:7433)")
        command.add_argument("--options", metavar="JSON", default="{}")
        command.add_argument("--passes", metavar="JSON", default="[]")
        command.add_argument("--timeout", metavar="SECONDS", type=float)
        if name in ("plan", "explain"):
            command.add_argument("--format", choices=("json", "text"), default="json" if name == "plan" else "text")
        if name == "explain":
            command.add_argument("node", metavar="NODE", nargs="?")
        if name == "report":
            command.add_argument("--output", metavar="FILE", help="instead of standard output")
    command = commands.add_parser("convert", help="a printed joint graph as a graph document")
    command.add_argument("file", metavar="FILE|-")
    command.add_argument("--num-fwd-outputs", type=int, metavar="N")
    command.add_argument("--static", metavar="I,J…", help="positions among the inputs of parameters and buffers; empty: none")
    command.add_argument("--hint", action="append", default=[], metavar="s0=N", help="the size of a symbol; may be repeated")
    command.add_argument("--graph", type=int, metavar="N", help="which one of several in the text, from 0")
    command.add_argument("--name", help="of the document")
    return parser


def _read(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.read()
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise _BadInput(f"{path}: {error}") from None


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _BadInput(f"{what}: not JSON: {error}") from None


def _request(args: argparse.Namespace) -> dict[str, Any]:
    return _request_of(_json(_read(args.file), args.file), args)


def _request_of(graph: Any, args: argparse.Namespace) -> dict[str, Any]:
    request = dict(graph) if isinstance(graph, dict) and "graph" in graph else {"graph": graph}
    request["options"] = {**(request.get("options") or {}), **_json(args.options, "--options")}
    request["passes"] = [*(request.get("passes") or ()), *_json(args.passes, "--passes")]
    return request


def _client(args: argparse.Namespace) -> Client:
    return Client(Settings.from_environment(url=args.url, timeout_s=args.timeout))


def _print(answer: Answer, kind: str) -> None:
    """JSON with line ends, text as it came."""
    if kind == "text":
        sys.stdout.write(answer.body.decode("utf-8", "replace"))
    else:
        print(json.dumps(answer.json(), indent=1, ensure_ascii=False))


_MEDIA_TYPES = {"json": "application/json", "text": "text/plain"}


def _plan(args: argparse.Namespace) -> int:
    request, client = _request(args), _client(args)
    if args.format == "text":
        _print(client.call("POST", "/v1/plans", request, accept="text/plain"), "text")
        return 0
    plan = client.plan(request["graph"], options=request["options"], passes=request["passes"])
    print(json.dumps(plan, separators=(",", ":"), ensure_ascii=False))
    return 0 if plan["outcome"] == "plan" else NO_PLAN


def _explain(args: argparse.Namespace) -> int:
    request, client = _request(args), _client(args)
    accept = _MEDIA_TYPES[args.format]
    if args.node is None:
        request["options"].setdefault("explain", "full")
        answer = client.call("POST", "/v1/plans", request, accept=accept)
    else:
        job = client.run_job("/v1/plans", request)
        answer = client.call("GET", f"{job}/node?name={quote(args.node, safe='')}", accept=accept)
    _print(answer, args.format)
    return 0


def _report(args: argparse.Namespace) -> int:
    document = _json(_read(args.file), args.file)
    is_artifact = isinstance(document, dict) and not document.keys() & {"graph", "nodes"}
    body = document if is_artifact else _request_of(document, args)
    page = _client(args).call("POST", "/v1/reports", body, accept="text/html").body
    if args.output:
        with open(args.output, "wb") as file:
            file.write(page)
    else:
        sys.stdout.buffer.write(page)
    return 0


def _convert(args: argparse.Namespace) -> int:
    hints = {}
    for text in args.hint:
        symbol, _, number = text.partition("=")
        if not symbol or not number.isdigit():
            raise _BadInput(f"--hint {text}: expected SYMBOL=NUMBER")
        hints[symbol] = int(number)
    static = None
    if args.static is not None:
        try:
            static = [int(part) for part in args.static.split(",") if part.strip()]
        except ValueError:
            raise _BadInput(f"--static {args.static}: expected numbers with commas between") from None
    made = convert(_read(args.file), num_fwd_outputs=args.num_fwd_outputs, static=static, hints=hints, graph=args.graph,
                   name=args.name)
    for line in made.inferred:
        print("inferred: " + line, file=sys.stderr)
    print(json.dumps(made.document, separators=(",", ":"), ensure_ascii=False))
    return 0


def main(argv: list[str] | None = None) -> int:
    """Runs a command; returns the exit status."""
    args = _parser().parse_args(argv)
    run = {"plan": _plan, "explain": _explain, "report": _report, "convert": _convert}[args.command]
    try:
        return run(args)
    except (_BadInput, ConvertError, ValueError) as error:
        print(f"rematd: {error}", file=sys.stderr)
        return BAD_INPUT
    except Problem as problem:
        print(f"rematd: {problem}", file=sys.stderr)
        return BAD_INPUT if problem.status in (400, 404, 413, 415, 422) else NO_ANSWER
    except (Unavailable, WrongAnswer) as error:
        print(f"rematd: {error}", file=sys.stderr)
        return NO_ANSWER


if __name__ == "__main__":
    sys.exit(main())
