# level: quick
"""What surrounds the programs: the demo, install, packages, the image's check.

The image itself is tried by test_image.py, which needs root and a Debian
mirror; here the check's own eyes are tried.
"""
import contextlib
import importlib.util
import io
import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join("tests", "data", "corpus")


def run(*command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=120, check=False,
                          **options)


def environment(**more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    return {**clean, **more}


class Temporary(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="deploy-")
        self.addCleanup(shutil.rmtree, self.folder)

    def put(self, path, text, mode=0o644):
        full = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(full, mode)


class Demo(Temporary):
    """deploy/demo.sh as `make demo` runs it, without a terminal."""

    def test_passes_and_leaves_nothing(self):
        done = run("sh", "deploy/demo.sh", cwd=TOP,
                   env=environment(TMPDIR=self.folder))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("The demo went as it should", done.stdout)
        self.assertEqual(os.listdir(self.folder), [])
        pid = int(re.search(r'"pid":(\d+)', done.stdout).group(1))
        self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def copy_with(self, path, text, mode=0o755):
        """The tree as links, with one file replaced."""
        for part in ("build/remat", "build/rematd", "deploy/demo.sh"):
            target = os.path.join(self.folder, part)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(os.path.join(TOP, part), target)
        os.makedirs(os.path.join(self.folder, CORPUS))
        for name in os.listdir(os.path.join(TOP, CORPUS)):
            os.symlink(os.path.join(TOP, CORPUS, name),
                       os.path.join(self.folder, CORPUS, name))
        os.unlink(os.path.join(self.folder, path))
        if text.startswith("->"):
            os.symlink(os.path.join(TOP, text[2:]),
                       os.path.join(self.folder, path))
        else:
            self.put(path, text, mode)

    def fails(self, words):
        done = run("sh", "deploy/demo.sh", cwd=self.folder, env=environment())
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(words, done.stderr)

    def test_fails_on_another_plan(self):
        self.copy_with(f"{CORPUS}/llama_2l_sac.graph.json.xz",
                       f"->{CORPUS}/llama_2l.graph.json.xz")
        self.fails("no line like")

    def test_fails_when_the_fault_has_a_plan(self):
        self.copy_with(
            f"{CORPUS}/autoparallel_llama_3l_naive_getitem.graph.json.xz",
            f"->{CORPUS}/llama_2l.graph.json.xz")
        self.fails("There is no plan")

    def test_fails_without_a_daemon(self):
        self.copy_with("build/rematd", "#!/bin/sh\nexit 1\n")
        self.fails("ended before it listened")

    def test_fails_on_an_unclean_stop(self):
        self.copy_with("build/rematd",
                       f"#!/bin/sh\ntrap 'kill $!; exit 7' TERM\n"
                       f"{TOP}/build/rematd \"$@\" &\nwait\n")
        self.fails("exited 7")


class Install(Temporary):
    def test_install_and_uninstall(self):
        place = [f"DESTDIR={self.folder}", "PREFIX=/opt/rematd"]
        done = run("make", "-s", "install", *place, cwd=TOP, env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        prefix = os.path.join(self.folder, "opt", "rematd")
        for program in ("rematd", "remat"):
            told = run(os.path.join(prefix, "bin", program), "--version")
            self.assertEqual(told.returncode, 0)
            self.assertIn("rematd/", told.stdout)
        unit = os.path.join(prefix, "lib/systemd/system/rematd.service")
        with open(unit, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("ExecStart=/opt/rematd/bin/rematd ", text)
        self.assertNotIn("@", re.sub(r"@(?=system-service|privileged|resources)",
                                     "", text))
        done = run("make", "-s", "uninstall", *place, cwd=TOP,
                   env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        left = [name for _, _, names in os.walk(self.folder) for name in names]
        self.assertEqual(left, [])


class Packages(Temporary):
    """deploy/install-packages.sh with a world of its own in PATH."""

    def install(self, installed, *wanted, root=True, sudo=False):
        self.put("dpkg-query", "#!/bin/sh\nfor p; do :; done\n"
                 f"case ' {installed} ' in *\" $p \"*) printf 'installed ' ;;\n"
                 "*) exit 1 ;; esac\n", 0o755)
        self.put("apt-get", '#!/bin/sh\necho "$*" >>"$CALLS"\n', 0o755)
        self.put("id", f"#!/bin/sh\necho {0 if root else 1000}\n", 0o755)
        if sudo:
            self.put("sudo", '#!/bin/sh\nexec "$@"\n', 0o755)
        calls = os.path.join(self.folder, "calls")
        for tool in ("sh", "env"):
            os.symlink(shutil.which(tool), os.path.join(self.folder, tool))
        done = run("/bin/sh", os.path.join(TOP, "deploy/install-packages.sh"),
                   *wanted, env={"PATH": self.folder, "CALLS": calls})
        made = []
        if os.path.exists(calls):
            with open(calls, encoding="utf-8") as file:
                made = file.read().splitlines()
        return done, made

    def test_nothing_to_do(self):
        done, calls = self.install("gcc make", "gcc", "make")
        self.assertEqual((done.returncode, done.stdout, calls), (0, "", []))

    def test_only_what_is_missing(self):
        done, calls = self.install("make", "gcc", "make", "check")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(calls), 2)
        self.assertIn("update", calls[0])
        self.assertRegex(calls[1], r"install .* gcc check$")

    def test_through_sudo(self):
        done, calls = self.install("", "gcc", root=False, sudo=True)
        self.assertEqual((done.returncode, len(calls)), (0, 2), done.stderr)

    def test_neither_root_nor_sudo(self):
        done, calls = self.install("", "gcc", root=False)
        self.assertEqual((done.returncode, calls), (1, []))
        self.assertIn("apt-get install -y gcc", done.stderr)


def load_check_image():
    spec = importlib.util.spec_from_file_location(
        "check_image", os.path.join(TOP, "deploy", "check_image.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Image(Temporary):
    def setUp(self):
        super().setUp()
        self.check = load_check_image()

    def instructions(self):
        return self.check.read_instructions(os.path.join(TOP, "Dockerfile"))

    def test_dockerfile_is_understood(self):
        names = [name for _, name, _ in self.instructions()]
        self.assertEqual(names.count("FROM"), 2)
        for name in ("ENTRYPOINT", "HEALTHCHECK", "USER", "STOPSIGNAL",
                     "VOLUME"):
            self.assertEqual(names.count(name), 1, name)

    def test_copied_files_are_in_the_context(self):
        """What COPY names exists, and .dockerignore lets it in."""
        found = 0
        for _, name, rest in self.instructions():
            if name == "COPY" and not rest.startswith("--from"):
                for word in rest.split()[:-1]:
                    found += 1
                    self.assertTrue(self.check.in_context(word), word)
                    self.assertTrue(os.path.exists(os.path.join(TOP, word)))
        self.assertGreaterEqual(found, 5)
        self.assertFalse(self.check.in_context("tests"))

    def look(self, path, mode):
        """What the check says of a root with one more file."""
        self.put("var/lib/apt/lists/.keep", "")
        os.unlink(os.path.join(self.folder, "var/lib/apt/lists/.keep"))
        self.put("usr/bin/ls", "", 0o755)
        self.put(path, "", mode)
        stage = type("Stage", (), {
            "root": self.folder, "path": lambda _, p: self.folder + p})()
        with contextlib.redirect_stdout(io.StringIO()):
            self.check.look_at_files(stage)
        return self.check.failures

    def test_clean_root(self):
        self.assertEqual(self.look("usr/bin/cat", 0o755), [])

    def test_compiler_is_seen(self):
        self.assertRegex(self.look("usr/bin/gcc-12", 0o755)[0], "gcc-12")

    def test_setuid_is_seen(self):
        self.assertRegex(self.look("usr/bin/su", 0o755 | stat.S_ISUID)[0],
                         "setuid.*su")

    def test_world_writable_is_seen(self):
        self.assertRegex(self.look("etc/x", 0o666)[0], "write.*etc/x")

    def test_root_user_is_seen(self):
        stage = type("Stage", (), {"user": "0:0", "config": {
            "ENTRYPOINT": ["/bin/sh", "-c", "rematd"]}})()
        with contextlib.redirect_stdout(io.StringIO()):
            self.check.look_at_config(stage)
        self.assertTrue(any("not root" in f for f in self.check.failures))
        self.assertTrue(any("no shell" in f for f in self.check.failures))


if __name__ == "__main__":
    unittest.main()
