# level: full
"""The Debian package: built, clean to lintian, installed, upgraded, purged."""
import glob
import os
import re
import shutil
import tempfile
import unittest

import deployment
from deployment import run

FAIL_ON = "error,warning,info,pedantic"


def lintian(path):
    return run("lintian", "--allow-root", "--fail-on", FAIL_ON, path)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = run("sh", "deploy/deb/build.sh", timeout=900,
                   env=deployment.environment())
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.path, = glob.glob(os.path.join(deployment.TOP, "build", "deb",
                                           "rematd_*.deb"))

    def contents(self):
        return run("dpkg-deb", "-c", self.path).stdout

    def test_lintian_has_nothing_to_say(self):
        changes, = glob.glob(os.path.join(deployment.TOP, "build", "deb",
                                          "*.changes"))
        done = lintian(changes)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_every_override_is_justified(self):
        """A comment stands before each."""
        lines = deployment.read(
            "deploy/deb/debian/rematd.lintian-overrides").splitlines()
        for before, line in zip([""] + lines, lines):
            if not line.startswith("#"):
                self.assertTrue(before.startswith("# "), line)

    def test_lintian_sees_a_fault(self):
        """The same package without its manual pages."""
        with tempfile.TemporaryDirectory() as folder:
            tree = os.path.join(folder, "tree")
            run("dpkg-deb", "-R", self.path, tree)
            shutil.rmtree(os.path.join(tree, "usr/share/man"))
            broken = os.path.join(folder, "rematd_1_all.deb")
            run("dpkg-deb", "--root-owner-group", "-b", tree, broken)
            done = lintian(broken)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("no-manual-page", done.stdout)

    def test_what_is_in_it(self):
        contents = self.contents()
        for path in ("etc/rematd/rematd.conf",
                     "lib/systemd/system/rematd.service",
                     "usr/bin/remat", "usr/bin/rematd",
                     "usr/lib/sysusers.d/rematd.conf",
                     "usr/share/bash-completion/completions/remat",
                     "usr/share/doc/rematd/README.md",
                     "usr/share/doc/rematd/runbook.md",
                     "usr/share/man/man1/remat.1",
                     "usr/share/man/man5/rematd.conf.5",
                     "usr/share/man/man8/rematd.8"):
            self.assertIn(" ./" + path, contents)

    def test_build_dependencies_are_the_makefiles(self):
        """Libraries of DEPS_BUILD, by which CI builds, in debian/control."""
        needed = re.search(r"^DEPS_BUILD := ((?:.*\\\n)*.*)$",
                           deployment.read("deploy", "deps.mk"), re.M).group(1)
        told = re.search(r"^Build-Depends: ((?:.+\n .*\n)(?: .*\n)*)",
                         deployment.read("deploy/deb/debian/control"), re.M)
        told = set(re.findall(r"[\w.+-]+-dev\b", told.group(1)))
        needed = set(re.findall(r"[\w.+-]+-dev\b", needed)) - {"libc6-dev"}
        self.assertEqual(told, needed)

    def test_configuration_is_a_conffile(self):
        done = run("dpkg-deb", "-I", self.path, "conffiles")
        self.assertEqual(done.stdout, "/etc/rematd/rematd.conf\n")

    def test_version_is_the_programs(self):
        told = run("dpkg-deb", "-f", self.path, "Version").stdout.strip()
        self.assertEqual(told, deployment.version() + "-1")
        self.assertIn("rematd/" + deployment.version(),
                      run(deployment.REMATD, "--version").stdout)

    @unittest.skipIf(os.geteuid() != 0, "a scratch root needs root")
    def test_install_upgrade_remove_purge(self):
        done = run("/usr/bin/python3", "deploy/check_deb.py", timeout=900)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(done.stdout.count("\nok  "), 12)


if __name__ == "__main__":
    unittest.main()
