"""What the suites of tests/deploy share: programs run, YAML and settings read."""
import json
import os
import re
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(TOP, "deploy")
TOOLS = os.path.join(TOP, "build", "tools")
REMATD = os.path.join(TOP, "build", "rematd")
REMAT = os.path.join(TOP, "build", "remat")
PROMTOOL = os.path.join(TOOLS, "promtool")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def run(*command, **options):
    """A finished program with its output as text, standard input empty."""
    options = {"timeout": 300, "cwd": TOP, **options}
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    return subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, check=False, **options)


def environment(**more):
    """Ours without what make and a rematd would take for theirs."""
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith(("MAKE", "REMATD_"))}
    return {**clean, **more}


def read(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return file.read()


def yaml_documents(text):
    """The documents of a YAML text. The parser is Debian's, for its own Python."""
    program = ("import json, sys, yaml\n"
               "print(json.dumps(list(yaml.safe_load_all(sys.stdin))))")
    done = run("/usr/bin/python3", "-c", program, input=text)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def version():
    return re.search(r"^VERSION := (\S+)$", read("Makefile"), re.M).group(1)


def settings(text):
    """{name: value} of a configuration file of rematd's."""
    found = {}
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[name.strip()] = value.strip()
    return found


def in_bytes(value):
    """A size as rematd or Kubernetes write it."""
    number, unit = re.fullmatch(r"(\d+)([KMG]?)i?", value).groups()
    return int(number) * UNITS[unit]


def flags_in_help(program):
    """{flag: what it takes, "" for a switch} that `program --help` lists."""
    done = run(program, "--help")
    return {flag: meta or "" for flag, meta in
            re.findall(r"^  (--[a-z][a-z-]+)(?: ([^ \n]+))?(?:  |$)",
                       done.stdout, re.M)}
