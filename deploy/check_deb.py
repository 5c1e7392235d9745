#!/usr/bin/python3
"""Tries the Debian package in a scratch root: `make deb-check`.

Installs build/deb/rematd_*.deb in a fresh Debian 12, runs what it installed as
the user it made, upgrades it over a changed configuration, removes and purges
it, and looks after each step at what an administrator would. Needs root,
mmdebstrap and util-linux, as check_image.py, whose scratch roots it uses.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

import check_image
from check_image import TOP, check, run, say

check_image.WORK = os.path.join(TOP, "build", "deb-check")
CONFIGURATION = "/etc/rematd/rematd.conf"
APT = ("DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends"
       " -o Dpkg::Options::=--force-confold -o Dpkg::Use-Pty=0 ")
# What the unit does, without systemd: its data directory, its user, its flags.
TRY = """
    set -e
    : >/tmp/out
    install -d -o rematd -g rematd -m 700 /var/lib/rematd
    setpriv --reuid=rematd --regid=rematd --clear-groups --no-new-privs \
        /usr/bin/rematd --config /etc/rematd/rematd.conf \
        --listen 127.0.0.1:0 @MORE@ >/tmp/out 2>/tmp/log &
    pid=$!
    for i in $(seq 600); do
        grep -q http:// /tmp/out && break
        kill -0 $pid 2>/dev/null || { cat /tmp/log >&2; exit 1; }
        sleep 0.1
    done
    remat ping $(sed -n '1s/.* //p' /tmp/out)
    kill -TERM $pid
    wait $pid
"""


def package():
    found = [path for path in glob.glob(os.path.join(TOP, "build", "deb",
                                                     "rematd_*.deb"))]
    if len(found) != 1:
        raise SystemExit("check_deb.py: run `make deb` first")
    return found[0]


def next_version(path):
    """The same package under a higher version, as an upgrade."""
    folder = os.path.join(check_image.WORK, "next")
    run("dpkg-deb", "-R", path, folder)
    control = os.path.join(folder, "DEBIAN", "control")
    with open(control, encoding="utf-8") as file:
        text = file.read()
    with open(control, "w", encoding="utf-8") as file:
        file.write(re.sub(r"(?m)^(Version: .*)$", r"\1+next", text))
    # A default that changed, too, so that the two versions of the
    # configuration meet.
    with open(folder + CONFIGURATION, "a", encoding="utf-8") as file:
        file.write("\n# another default\n")
    run("dpkg-deb", "--root-owner-group", "-b", folder, folder + ".deb",
        stdout=subprocess.DEVNULL)
    return folder + ".deb"


class Root(check_image.Stage):
    def works(self, command):
        """Whether a command of a shell in the root ends well."""
        try:
            self.shell(command)
        except subprocess.CalledProcessError:
            return False
        return True

    def has(self, path):
        return os.path.lexists(self.path(path))

    def read(self, path):
        with open(self.path(path), encoding="utf-8") as file:
            return file.read()

    def status(self):
        words = re.search(r"(?m)^Package: rematd\n(?:.+\n)*?Status: (.*)$",
                          self.read("/var/lib/dpkg/status"))
        return words.group(1) if words else "not known"


def flags():
    """The unit's data directory, and no port that others may have."""
    wanted = (["--data", "/var/lib/rematd"], ["--admin-listen", "127.0.0.1:0"])
    program = os.path.join(TOP, "build", "rematd")
    return " ".join(" ".join(pair) for pair in wanted if subprocess.run(
        [program, *pair, "--print-config"], capture_output=True,
        check=False).returncode == 0)


def after_install(root):
    check(root.status() == "install ok installed", "installs")
    check(re.search(r"(?m)^rematd:x:\d+:\d+:.*:/var/lib/rematd:.*nologin$",
                    root.read("/etc/passwd")), "makes the user rematd")
    check(root.has("/etc/systemd/system/multi-user.target.wants/"
                   "rematd.service"), "enables the service")
    check(root.works("rematd --config %s --print-config" % CONFIGURATION),
          "the configuration it installs is good")
    check(root.works(TRY.replace("@MORE@", flags())),
          "the daemon runs as that user, answers, and ends in order")


def main():
    if os.geteuid() != 0:
        raise SystemExit("check_deb.py: needs root, for chroot and namespaces")
    shutil.rmtree(check_image.WORK, ignore_errors=True)
    path = package()
    root = Root("debian:bookworm-slim", "root")
    shutil.copy(path, root.path("/tmp/rematd.deb"))
    shutil.copy(next_version(path), root.path("/tmp/next.deb"))

    say("install  " + os.path.basename(path))
    root.shell("apt-get -qq update && " + APT + "install /tmp/rematd.deb")
    after_install(root)

    say("upgrade")
    root.shell("echo 'queue = 7' >>" + CONFIGURATION)
    root.shell("echo kept >/var/lib/rematd/kept; echo t >/etc/rematd/tokens")
    root.shell(APT + "install /tmp/next.deb")
    check("+next" in root.read("/var/lib/dpkg/status"), "upgrades")
    check("queue = 7" in root.read(CONFIGURATION),
          "keeps a configuration that was changed")
    check("queue = 7" in root.read(CONFIGURATION) and
          root.works("rematd --config %s --print-config" % CONFIGURATION),
          "which is still good")

    say("remove")
    root.shell(APT + "remove rematd")
    check(not root.has("/usr/bin/rematd"), "the programs are gone")
    check("queue = 7" in root.read(CONFIGURATION) and
          root.has("/var/lib/rematd/kept"), "configuration and data stay")

    say("purge")
    root.shell(APT + "purge rematd")
    check(root.status() == "not known", "dpkg has forgotten it")
    for gone in ("/etc/rematd", "/var/lib/rematd", "/usr/share/doc/rematd",
                 "/etc/systemd/system/multi-user.target.wants/rematd.service",
                 "/lib/systemd/system/rematd.service"):
        check(not root.has(gone), gone + " is gone")

    bad = len(check_image.failures)
    say("deb-check: " + ("FAILED" if bad else "all good"))
    shutil.rmtree(check_image.WORK, ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
