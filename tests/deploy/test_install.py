# level: full
"""What `make install` leaves: manual pages, completion, unit, configuration.

Each is tried by what reads it: mandoc, bash, zsh and fish, systemd-analyze,
and rematd itself.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import deployment
from deployment import run

FLAG = re.compile(r"--[a-z][a-z-]+")


class Installed(unittest.TestCase):
    """A tree with `make install PREFIX=/usr` in it, made once."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="install-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        done = run("make", "-s", "install", f"DESTDIR={cls.folder}",
                   "PREFIX=/usr", env=deployment.environment())
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)

    @classmethod
    def place(cls, *path):
        return os.path.join(cls.folder, *path)

    def text(self, *path):
        with open(self.place(*path), encoding="utf-8") as file:
            return file.read()

    def path_environment(self):
        path = self.place("usr/bin") + ":" + os.environ["PATH"]
        return deployment.environment(PATH=path, HOME=self.folder,
                                      XDG_CONFIG_HOME=self.folder)


PAGES = {"rematd": "man8/rematd.8", "remat": "man1/remat.1",
         "rematd.conf": "man5/rematd.conf.5"}


class ManualPages(Installed):
    def page(self, name):
        """The page as a reader sees it, on one line."""
        done = run("mandoc", "-T", "utf8", self.place("usr/share/man",
                                                      PAGES[name]))
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.sub(r"\s+", " ", re.sub(".\b", "", done.stdout))

    def source(self, name):
        return self.text("usr/share/man", PAGES[name])

    def test_mandoc_has_nothing_to_say(self):
        """But of other pages, which it looks for in the system only."""
        done = run("mandoc", "-T", "lint", "-W", "all",
                   *(self.place("usr/share/man", page)
                     for page in PAGES.values()))
        said = [line for line in (done.stdout + done.stderr).splitlines()
                if "referenced manual not found" not in line
                and "outdated mandoc.db" not in line]
        self.assertEqual(said, [])

    def test_pages_referred_to_exist(self):
        known = {os.path.basename(page) for page in PAGES.values()}
        for name in PAGES:
            for page, section in re.findall(r"^\.Xr (\S+) (\d)",
                                            self.source(name), re.M):
                self.assertIn(f"{page}.{section}", known | {"systemctl.1"})

    def test_flags_are_those_of_the_program(self):
        for name in ("rematd", "remat"):
            flags = set(deployment.flags_in_help(
                self.place("usr/bin", name)))
            self.assertGreater(len(flags), 5)
            # What is set as a flag, apart from the examples.
            told = set(re.findall(r"Fl Fl ([a-z][a-z-]+)", self.source(name)))
            told -= {"flag"}
            if name == "remat":
                flags |= {"--help", "--version"}
            with self.subTest(name):
                self.assertEqual({"--" + flag for flag in told}, flags)

    def test_every_flag_mentioned_exists(self):
        for name in PAGES:
            program = "remat" if name == "remat" else "rematd"
            known = set(deployment.flags_in_help(
                self.place("usr/bin", program)))
            known |= {"--help", "--version", "--flag", "--json"}
            for flag in FLAG.findall(self.page(name)):
                with self.subTest(name):
                    self.assertIn(flag, known)

    def test_settings_are_the_flags(self):
        flags = set(deployment.flags_in_help(self.place("usr/bin/rematd")))
        flags -= {"--config", "--print-config", "--help", "--version"}
        told = re.findall(r"^\.It Ic ([a-z-]+) = ",
                          self.source("rematd.conf"), re.M)
        self.assertEqual({"--" + name for name in told}, flags)

    def test_what_a_setting_does_is_told(self):
        """Each item has the text and default of --help."""
        help_text = run(self.place("usr/bin/rematd"), "--help").stdout
        words = re.sub(r"\s+", " ", help_text)
        text = self.page("rematd")
        for flag in deployment.flags_in_help(self.place("usr/bin/rematd")):
            told = re.search(re.escape(flag) + r"(?: [^ ]+)?  ?(.{20})",
                             words.split("take K, M, G)")[1])
            with self.subTest(flag):
                self.assertIn(told.group(1)[:20].strip().split(" ")[1], text)
        self.assertIn("Default 127.0.0.1:7433.", text)
        self.assertNotIn("REMATD_", self.page("rematd.conf"))

    def test_commands_and_exit_codes(self):
        text = run(self.place("usr/bin/remat"), "--help").stdout
        usage = text.split("Usage")[1].split("Flags")[0]
        commands = set(re.findall(r"^  remat ([a-z]+)", usage, re.M))
        self.assertEqual(commands, set(re.findall(
            r"^\.It Cm ([a-z]+)$", self.source("remat"), re.M)))
        codes = re.findall(r"^  (\d)  ", text, re.M)
        self.assertEqual(codes, re.findall(r"^\.It (\d)$",
                                           self.source("remat"), re.M))

    def test_nothing_is_left_to_fill_in(self):
        for page in PAGES:
            self.assertNotRegex(self.source(page), "@[A-Z]+@")

    def test_a_seeded_fault_is_seen(self):
        with tempfile.NamedTemporaryFile("w", suffix=".8") as file:
            file.write(self.source("rematd").replace(".Sh SIGNALS",
                                                     ".Sh SIGNALS\n.Xx"))
            file.flush()
            self.assertIn("Xx", run("mandoc", "-T", "lint",
                                    file.name).stdout)


class Completion(Installed):
    """(words so far, what is offered) in three shells."""

    CASES = (
        (("rematd", "--max-b"), {"--max-body"}),
        (("rematd", "--print"), {"--print-config"}),
        (("remat", "pl"), {"plan"}),
        (("remat", "fr"), {"frontier"}),
        (("remat", "plan", "--ti"), {"--timings"}),
        (("remat", "plan", "--format", ""), {"json", "text"}),
        (("remat", "export", "--as", ""),
         {"min-cut-information", "dot", "dimacs"}),
        (("remat", "plan", "ste"), {"step.json"}),
        (("rematd", "--config", "ste"), {"step.json"}),
        (("rematd", "--data", "sto"), {"store"}),
        (("rematd", "--workers", ""), set()),
    )

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.work = os.path.join(cls.folder, "work")
        os.makedirs(os.path.join(cls.work, "store"))
        with open(os.path.join(cls.work, "step.json"), "wb"):
            pass

    def bash(self, words):
        script = f'''
            source "{self.place('usr/share/bash-completion/completions/rematd')}"
            compopt() {{ :; }}
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            spec=$(complete -p "$1") || exit 9
            function=${{spec#*-F }} function=${{function%% *}}
            "$function" "$1" "${{COMP_WORDS[COMP_CWORD]}}" \\
                "${{COMP_WORDS[COMP_CWORD - 1]}}"
            printf '%s\\n' "${{COMPREPLY[@]}}"'''
        return run("bash", "--norc", "-c", script, "bash", *words,
                   cwd=self.work, env=self.path_environment())

    def fish(self, words):
        place = self.place("usr/share/fish/vendor_completions.d")
        line = " ".join(words)
        return run("fish", "--no-config", "-c",
                   f"set -p fish_complete_path '{place}'; "
                   f"complete -C '{line}'",
                   cwd=self.work, env=self.path_environment())

    def zsh(self, words):
        """A shell on a terminal of its own; what compadd gets is written down.

        Calls of compadd with -O, -A or -D only ask, and offer nothing.
        """
        inner = os.path.join(self.folder, "inner.zsh")
        found = os.path.join(self.folder, "found")
        with open(inner, "w", encoding="utf-8") as file:
            file.write(f'''
                PS1= PROMPT_EOL_MARK= LISTMAX=10000
                fpath=("{self.place("usr/share/zsh/site-functions")}" $fpath)
                autoload -U compinit && compinit -u -D
                compadd() {{
                    local -a hits; local hit
                    if [[ ${{@[1,(i)(-|--)]}} != *-[OAD]\\ * ]]; then
                        builtin compadd -A hits "$@"
                        for hit ($hits) print -r -- "<<$hit>>" >>"{found}"
                    fi
                    builtin compadd "$@"
                }}
                ask() {{ _main_complete; compstate[insert]=; compstate[list]= }}
                zle -C ask list-choices ask
                bindkey '^L' ask
                zle-line-init() {{ print ready >>"{found}" }}
                zle -N zle-line-init''')
        script = '''
            zmodload zsh/zpty
            zpty shell zsh -f -i
            zpty -w shell "source $1"
            while [[ ! -s $3 ]] sleep 0.02
            zpty -w -n shell "$2"$'\\C-l'
            zpty -w shell $'\\C-u'"print -r done >>$3"
            while [[ $(<$3) != *done* ]] sleep 0.02
            zpty -d shell'''
        run("zsh", "-f", "-c", script, "zsh", inner, " ".join(words), found,
            cwd=self.work, timeout=60, env=self.path_environment())
        with open(found, encoding="utf-8") as file:
            said = file.read()
        os.unlink(found)
        return subprocess.CompletedProcess(
            [], 0, "\n".join(re.findall("<<(.*?)>>", said)), said)

    def offered(self, shell, words):
        done = getattr(self, shell)(words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {line.split("\t")[0].rstrip("/ ") for line in
                done.stdout.splitlines() if line.strip()}

    def check(self, shell):
        for words, expected in self.CASES:
            with self.subTest(" ".join(words)):
                self.assertEqual(self.offered(shell, words), expected)
        flags = set(deployment.flags_in_help(self.place("usr/bin/rematd")))
        self.assertEqual(self.offered(shell, ("rematd", "--")) - {"--"}, flags)

    def test_bash(self):
        self.check("bash")
        self.assertEqual(self.offered(
            "bash", ("rematd", "--config", "=")), {"step.json", "store"})
        self.assertEqual(self.offered(
            "bash", ("remat", "plan", "--format", "=", "t")), {"text"})

    def test_fish(self):
        self.check("fish")

    def test_zsh(self):
        self.check("zsh")


class Unit(Installed):
    def setUp(self):
        self.unit = self.place("usr/lib/systemd/system/rematd.service")

    def analyze(self, *arguments):
        return run("systemd-analyze", *arguments)

    def runnable(self):
        """The unit, with programs of this machine where it names its own."""
        text = self.text("usr/lib/systemd/system/rematd.service")
        path = self.place("rematd.service")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("/usr/bin/rematd",
                                    self.place("usr/bin/rematd")))
        return path

    def test_systemd_accepts_it(self):
        done = self.analyze("verify", "--man=no", self.runnable())
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_a_wrong_line_is_seen(self):
        path = self.runnable()
        with open(path, "a", encoding="utf-8") as file:
            file.write("[Service]\nProtectSytem=strict\n")
        self.assertIn("ProtectSytem",
                      self.analyze("verify", "--man=no", path).stderr)

    def test_exposure(self):
        """systemd's own measure: 0 is best, 10 worst, 2 is a strict unit."""
        done = self.analyze("security", "--offline=true", "--threshold=15",
                            "--no-pager", self.runnable())
        self.assertEqual(done.returncode, 0, done.stdout[-600:] + done.stderr)
        done = self.analyze("security", "--offline=true", "--threshold=5",
                            "--no-pager", self.runnable())
        self.assertNotEqual(done.returncode, 0, "tighten the threshold above")

    def directives(self, name):
        text = self.text("usr/lib/systemd/system/rematd.service")
        return re.findall(rf"^{name}=(.*)$", text, re.M)

    def system_calls(self, name):
        """The calls in a set of systemd's, sets in it included."""
        if not name.startswith("@"):
            return {name}
        words = [line.strip() for line in self.analyze(
            "syscall-filter", name).stdout.splitlines()[1:]]
        return set().union(*(self.system_calls(word) for word in words
                             if word and not word.startswith("#")))

    def traced(self):
        """The system calls of a daemon that plans, keeps, reloads and ends."""
        trace, data = self.place("trace"), self.place("data")
        environment = {**os.environ, "REMAT_BUILD": self.place("usr/bin")}
        program = """if True:
            import daemon, json, lzma, signal, sys
            daemon.REMATD = sys.argv[1]
            with daemon.Daemon("--data", sys.argv[2]) as rematd:
                with lzma.open(sys.argv[3]) as file:
                    graph = file.read()
                assert rematd.plan(graph).status == 200
                job = rematd.plan(graph, {"Prefer": "respond-async"})
                assert job.status == 202, job
                assert rematd.get(job.headers["location"]).status == 200
                assert rematd.get("/metrics").status in (200, 501)
                rematd.signal(signal.SIGHUP)
                print(rematd.process.pid)
            """
        wrapper = self.place("traced")
        with open(wrapper, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec strace -D -f -q -o "{trace}" '
                       f'"{self.place("usr/bin/rematd")}" "$@"\n')
        os.chmod(wrapper, 0o755)
        support = os.path.join(deployment.TOP, "tests", "support")
        done = run(sys.executable, "-c", program, wrapper, data,
                   os.path.join(deployment.TOP, "tests", "data", "corpus",
                                "llama_2l_sac.graph.json.xz"),
                   env={**environment, "PYTHONPATH": support})
        self.assertEqual(done.returncode, 0, done.stderr)
        last = f"\n{int(done.stdout)} +++ exited with 0"
        for _ in range(600):  # the tracer may end after the daemon
            if last in re.sub(" +", " ", self.text("trace")):
                break
            time.sleep(0.1)
        return self.text("trace")

    def test_the_daemon_does_nothing_that_is_forbidden(self):
        """What strace sees of it, against the unit's filters."""
        trace = self.traced()
        used = set(re.findall(r"^\d+ +(\w+)\(", trace, re.M))
        self.assertLessEqual({"epoll_wait", "sendmsg", "fdatasync"}, used)
        allowed, denied = self.directives("SystemCallFilter")
        permitted = set().union(*map(self.system_calls, allowed.split()))
        for name in denied.lstrip("~").split():
            permitted -= self.system_calls(name)
        # execve is before the filter; SQLite gives files away as root only.
        self.assertEqual(used - permitted - {"execve", "fchown"}, set())
        families = set(re.findall(r"\bsocket\((AF_\w+)", trace))
        self.assertLessEqual(families, set(
            self.directives("RestrictAddressFamilies")[0].split()))
        self.assertNotRegex(trace, r"PROT_WRITE\|PROT_EXEC")

    def test_it_waits_for_the_drain(self):
        text = self.text("usr/lib/systemd/system/rematd.service")
        stop = int(re.search(r"^TimeoutStopSec=(\d+)$", text, re.M).group(1))
        done = run(deployment.REMATD, "--print-config",
                   env=deployment.environment())
        drain = deployment.settings(done.stdout)["drain-timeout"]
        self.assertGreater(stop, int(drain) + 10)

    def test_the_user_is_made(self):
        text = self.text("usr/lib/sysusers.d/rematd.conf")
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "etc"))
            done = run("systemd-sysusers", f"--root={root}", "-", input=text)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(root, "etc/passwd"),
                      encoding="utf-8") as file:
                self.assertRegex(file.read(), r"(?m)^rematd:.*nologin$")

    def test_what_it_names_is_installed(self):
        text = self.text("usr/lib/systemd/system/rematd.service")
        for path in ("/usr/bin/rematd", "/etc/rematd/rematd.conf",
                     "/usr/share/doc/rematd/README.md"):
            self.assertIn(path, text)
            self.assertTrue(os.path.exists(self.folder + path), path)


class Configuration(Installed):
    def print_config(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(text)
            file.flush()
            return run(deployment.REMATD, "--config", file.name,
                       "--print-config", env=deployment.environment())

    def test_as_installed(self):
        done = self.print_config(self.text("etc/rematd/rematd.conf"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_commented_out_is_the_default(self):
        """Or, for files that there cannot be by default, an example."""
        text = self.text("etc/rematd/rematd.conf")
        shown = re.findall(r"^#([a-z-]+) = (.*)$", text, re.M)
        self.assertGreater(len(shown), 8)
        told = run(deployment.REMATD, "--help").stdout
        for name, value in shown:
            default = re.search(rf"(?m)^  --{name} .*\n(?:      .*\n)*?"
                                r"      Default (\S+)\. Env", told).group(1)
            with self.subTest(name):
                if default == "none":
                    self.assertTrue(value.startswith("/etc/rematd/"))
                elif default == "auto" and value != "auto":
                    effective = run(deployment.REMATD, "--print-config",
                                    env=deployment.environment()).stdout
                    self.assertEqual(
                        deployment.settings(effective)[name],
                        str(deployment.in_bytes(value)))
                else:
                    self.assertEqual(value, default)

    def test_a_changed_one_is_kept(self):
        place = self.place("etc/rematd/rematd.conf")
        original = self.text("etc/rematd/rematd.conf")
        arguments = ["make", "-s", f"DESTDIR={self.folder}", "PREFIX=/usr"]
        try:
            with open(place, "a", encoding="utf-8") as file:
                file.write("queue = 7\n")
            done = run(*arguments, "install", env=deployment.environment())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("queue = 7", self.text("etc/rematd/rematd.conf"))
        finally:
            with open(place, "w", encoding="utf-8") as file:
                file.write(original)


if __name__ == "__main__":
    unittest.main()
