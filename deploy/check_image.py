#!/usr/bin/python3
"""Builds and tries the container image without Docker: `make image-check`.

Reads the Dockerfile, carries out each of its steps in scratch Debian roots
(mmdebstrap, chroot), then runs the entry point as the image's user, as process
1 of its own namespaces, on a read-only root with the volume, and looks at what
an operator relies on: the health check, a plan over HTTP, a job that another
container with the same volume still has, metrics, no compiler, no setuid
program, exit 0 on the stop signal. An instruction it does not know is an error, so the
check cannot drift from the file. Needs root, mmdebstrap and util-linux.
"""

import fcntl
import fnmatch
import json
import lzma
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
import urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK = os.path.join(TOP, "build", "image")
TARS = os.path.join(TOP, "build", "debian")
BASES = {"debian:bookworm-slim": "bookworm"}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
COMPILERS = ["gcc*", "g++*", "cc", "c++", "c99*", "c89*", "cpp", "cpp-*",
             "clang*", "tcc", "ld", "ld.bfd", "ld.gold", "as", "make",
             "*-linux-gnu-gcc*", "python*"]
# What Debian's slim images leave out of every package.
SLIM = ["/usr/share/%s/*" % part
        for part in ("man", "doc", "info", "locale", "lintian", "groff")]
failures = []


def say(text):
    print(text, flush=True)


def check(good, text):
    say(("ok      " if good else "FAILED  ") + text)
    if not good:
        failures.append(text)


def run(*command, **options):
    return subprocess.run(command, check=True, **options)


# ---- the Dockerfile -----------------------------------------------------

def read_instructions(path):
    """[(line number, NAME, rest)], comments dropped, continuations joined."""
    found, joined, start = [], "", 0
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            text = line.strip()
            if text.startswith("#") or (not text and not joined):
                continue
            start = start or number
            joined += text[:-1] + " " if text.endswith("\\") else text
            if not text.endswith("\\"):
                name, _, rest = joined.partition(" ")
                found.append((start, name.upper(), rest.strip()))
                joined, start = "", 0
    return found


class Stage:
    """One FROM and what follows it, carried out in a root of its own."""

    def __init__(self, base, name):
        self.name = name
        self.root = os.path.join(WORK, name)
        self.workdir = "/"
        self.user = "0:0"
        self.config = {"CMD": []}
        run("mkdir", "-p", self.root)
        run("tar", "-xf", base_tar(base), "-C", self.root, "--numeric-owner")
        for file in ("resolv.conf", "hosts"):
            shutil.copyfile("/etc/" + file, self.path("/etc/" + file))

    def path(self, inside):
        return self.root + os.path.normpath(os.path.join("/", inside))

    def shell(self, command):
        """A RUN step, in namespaces that end with it."""
        script = ('mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev"'
                  ' && cd / && exec chroot "$1" /bin/sh -c "$2"')
        inside = "cd %s && %s" % (shlex.quote(self.workdir), command)
        run("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh",
            "-c", script, "sh", self.root, inside, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, env={"PATH": PATH, "HOME": "/root"})

    def copy(self, words, stages):
        source = TOP
        if words[0].startswith("--from="):
            source = stages[words.pop(0)[len("--from="):]].root
        target = os.path.join(self.workdir, words.pop())
        for word in words:
            origin = os.path.normpath(os.path.join(source, word.lstrip("/")))
            if source == TOP and not in_context(word):
                raise SystemExit("COPY %s: .dockerignore leaves it out" % word)
            place = self.path(target)
            if os.path.isdir(origin):
                shutil.copytree(origin, place, symlinks=True,
                                dirs_exist_ok=True)
            else:
                if target.endswith(("/", "/.")) or os.path.isdir(place):
                    place = os.path.join(place, os.path.basename(origin))
                os.makedirs(os.path.dirname(place), exist_ok=True)
                shutil.copy2(origin, place)


def in_context(path):
    """Whether .dockerignore lets a path of the tree into the build."""
    inside = True
    with open(os.path.join(TOP, ".dockerignore"), encoding="utf-8") as file:
        for line in file:
            rule = line.strip()
            if not rule or rule.startswith("#"):
                continue
            keep = rule.startswith("!")
            rule = rule.lstrip("!").rstrip("/")
            if fnmatch.fnmatch(path, rule) or path.startswith(rule + "/"):
                inside = keep
    return inside


def base_tar(image):
    """A Debian root as small as the slim image's, built once."""
    if image not in BASES:
        raise SystemExit("FROM %s: only %s can be made here"
                         % (image, ", ".join(BASES)))
    tar = os.path.join(TARS, BASES[image] + ".tar")
    os.makedirs(TARS, exist_ok=True)
    with open(os.path.join(TARS, "lock"), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(tar):
            say("making   " + image)
            run("mmdebstrap", "--quiet", "--variant=minbase",
                *("--dpkgopt=path-exclude=" + path for path in SLIM),
                BASES[image], tar + ".part.tar")
            os.rename(tar + ".part.tar", tar)
    return tar


def list_or_shell(text):
    return json.loads(text) if text.startswith("[") else \
        ["/bin/sh", "-c", text]


def build():
    """Carries the Dockerfile out; returns the last stage."""
    stages, stage = {}, None
    for number, name, rest in read_instructions(os.path.join(TOP,
                                                             "Dockerfile")):
        say("%-8s %s" % (name, re.sub(r"\s+", " ", rest)[:100]))
        if name == "FROM":
            words = rest.split()
            label = words[2] if len(words) == 3 else "final"
            stage = stages[label] = Stage(words[0], label)
        elif name == "RUN":
            stage.shell(rest)
        elif name == "COPY":
            stage.copy(rest.split(), stages)
        elif name == "WORKDIR":
            stage.workdir = rest
            os.makedirs(stage.path(rest), exist_ok=True)
        elif name == "USER":
            stage.user = rest
        elif name in ("ENTRYPOINT", "CMD"):
            stage.config[name] = list_or_shell(rest)
        elif name == "HEALTHCHECK":
            stage.config[name] = list_or_shell(rest.split("CMD", 1)[1].strip())
        elif name == "VOLUME":
            stage.config[name] = json.loads(rest)
        elif name in ("STOPSIGNAL", "EXPOSE", "LABEL"):
            stage.config[name] = rest
        else:
            raise SystemExit("Dockerfile line %d: %s is not known to %s"
                             % (number, name, os.path.basename(__file__)))
    return stage


# ---- the image at rest --------------------------------------------------

def look_at_files(stage):
    compilers, setuid, writable, n_bytes = [], [], [], 0
    for folder, _, files in os.walk(stage.root):
        for name in files + ["."]:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            short = path[len(stage.root):]
            n_bytes += os.lstat(path).st_size if stat.S_ISREG(mode) else 0
            if os.path.basename(folder) in ("bin", "sbin") and any(
                    fnmatch.fnmatch(name, c) for c in COMPILERS):
                compilers.append(short)
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                setuid.append(short)
            if mode & stat.S_IWOTH and not stat.S_ISLNK(mode) and \
                    not mode & stat.S_ISVTX and not stat.S_ISCHR(mode):
                writable.append(short)
    check(not compilers, "no compiler, linker, make or Python %s" % compilers)
    check(not setuid, "no setuid or setgid file %s" % setuid)
    check(not writable, "nothing anybody may write %s" % writable)
    check(not os.listdir(stage.path("/var/lib/apt/lists")), "no package lists")
    say("        image size %.0f MiB" % (n_bytes / 2**20))


def look_at_config(stage):
    user = stage.user.split(":")
    check(len(user) == 2 and all(u.isdigit() and int(u) > 0 for u in user),
          "the user is numeric and not root: " + stage.user)
    for name in ("ENTRYPOINT", "HEALTHCHECK", "STOPSIGNAL", "LABEL", "EXPOSE",
                 "VOLUME"):
        check(name in stage.config, name + " is set")
    check(stage.config.get("ENTRYPOINT", [""])[0] != "/bin/sh",
          "the entry point is the daemon itself, no shell before it")


# ---- the image at work --------------------------------------------------

def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 1)  # IFF_UP
        fcntl.ioctl(sock.fileno(), 0x8914, request)  # SIOCSIFFLAGS


def inside(root, user, command):
    """The command line that runs `command` in the image as its user."""
    return ["setpriv", "--no-new-privs", "--inh-caps=-all", "chroot",
            "--userspec=" + user, "--groups=", root] + command


def corpus_graph():
    """A real graph of the test data, as a client would send it."""
    folder = os.path.join(TOP, "tests", "data", "corpus")
    for name in sorted(os.listdir(folder)):
        if not name.startswith("llama_2l_sac.graph.json"):
            continue
        path = os.path.join(folder, name)
        opener = lzma.open if name.endswith(".xz") else open
        with opener(path, "rb") as file:
            return file.read()
    raise SystemExit("no llama_2l_sac.graph.json in " + folder)


def ask(url, body=None, **headers):
    request = urllib.request.Request(url, data=body, headers={
        "Content-Type": "application/json", **headers})
    return urllib.request.urlopen(request, timeout=90)


def try_plan(url):
    with ask(url + "/v1/plans", corpus_graph()) as answer:
        plan = json.load(answer)
    check(plan["outcome"] == "plan" and len(plan["saved"]) > 10,
          "plans a Llama graph: %d values saved" % len(plan["saved"]))


def try_metrics(spec):
    """On the second port that the image exposes."""
    port = spec["EXPOSE"].split()[1]
    with ask("http://127.0.0.1:%s/metrics" % port) as answer:
        check(b"\nrematd_ready 1\n" in answer.read(), "tells its metrics")


class Container:
    """The daemon as process 1 of its own, while the object is entered."""

    def __init__(self, spec):
        self.spec = spec
        self.environment = {"PATH": PATH}

    def __enter__(self):
        self.daemon = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child"]
            + self.inside(self.spec["ENTRYPOINT"] + self.spec["CMD"]),
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
            env=self.environment)
        line = self.daemon.stdout.readline().decode().strip()
        found = re.fullmatch(r"listening on http://0\.0\.0\.0:(\d+)", line)
        check(found, "starts: " + line)
        if not found:
            raise SystemExit(1)
        self.url = "http://127.0.0.1:" + found.group(1)
        with open("/proc/%d/task/%d/children" % ((self.daemon.pid,) * 2),
                  encoding="ascii") as file:
            self.pid = int(file.read().split()[0])
        return self

    def __exit__(self, kind, *_):
        began = time.monotonic()
        os.kill(self.pid, getattr(signal, self.spec["STOPSIGNAL"]))
        check(self.daemon.wait(60) == 0, "exits 0 on %s after %.1f s"
              % (self.spec["STOPSIGNAL"], time.monotonic() - began))

    def inside(self, command):
        return inside(self.spec["root"], self.spec["user"], command)

    def is_healthy(self):
        return subprocess.run(
            self.inside(self.spec["HEALTHCHECK"]), stderr=subprocess.DEVNULL,
            env=self.environment, check=False).returncode == 0

    def look(self):
        user = self.spec["user"]
        with open("/proc/%d/status" % self.pid, encoding="ascii") as file:
            status = file.read()
        check("Uid:\t" + "\t".join([user.split(":")[0]] * 4) in status,
              "runs as " + user)
        check(re.search(r"CapEff:\s*0+\n", status), "has no capability")
        check(re.search(r"NSpid:.*\t1\n", status),
              "is process 1 of its container")


def mount_all(spec):
    """The root read-only, and a new volume in each place for one."""
    root = spec["root"]
    raise_loopback()
    run("mount", "--bind", root, root)
    run("mount", "-t", "proc", "proc", root + "/proc")
    run("mount", "--bind", "/dev/null", root + "/dev/null")
    for i, place in enumerate(spec["VOLUME"]):
        volume = os.path.join(WORK, "volume%d" % i)
        run("cp", "-a", root + place, volume)
        run("mount", "--bind", volume, root + place)
    run("mount", "-o", "remount,bind,ro", root)
    touch = subprocess.run(["chroot", root, "touch", "/var/tmp/x"],
                           stderr=subprocess.DEVNULL, check=False)
    check(touch.returncode != 0, "the root is read-only, even for root")


def run_image(spec):
    """In fresh namespaces (see main): one container, then another."""
    mount_all(spec)
    with Container(spec) as container:
        check(container.is_healthy(), "the health check passes")
        container.look()
        try_plan(container.url)
        try_metrics(spec)
        with ask(container.url + "/v1/plans", corpus_graph(),
                 Prefer="respond-async") as answer:
            place = answer.headers["Location"]
            check(answer.status == 202 and place, "takes a job: %s" % place)
    check(not container.is_healthy(),
          "the health check fails when the daemon is gone")
    with Container(spec) as container:
        with ask(container.url + place, Prefer="wait=60") as answer:
            job = json.load(answer)
        check(job["state"] == "succeeded", "the job outlives the container")
        with ask(container.url + place + "/plan") as answer:
            check(json.load(answer)["outcome"] == "plan", "with its plan")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--run":
        run_image(json.loads(sys.argv[2]))
        return 1 if failures else 0
    if os.geteuid() != 0:
        raise SystemExit("image-check: needs root, for chroot and namespaces")
    os.makedirs(WORK, exist_ok=True)
    for name in os.listdir(WORK):
        run("rm", "-rf", "--one-file-system", os.path.join(WORK, name))
    stage = build()
    look_at_config(stage)
    look_at_files(stage)
    spec = dict(stage.config, root=stage.root, user=stage.user)
    spec.pop("LABEL", None)
    inner = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child",
         "--mount-proc", sys.executable, os.path.abspath(__file__), "--run",
         json.dumps(spec)], check=False)
    bad = len(failures) + (1 if inner.returncode else 0)
    say("image-check: " + ("FAILED" if bad else "all good"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
