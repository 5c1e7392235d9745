# level: quick
"""The checks of `make layers` hold on the tree, and each of them can fail: a
copy of the tree with one seeded violation must be refused for that reason."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PARTS = ("Makefile", "core", "proto", "server", "deploy")


def make(folder, *targets):
    """Runs make there, with the release flags whatever the caller's are."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    return subprocess.run(
        ["make", "-s", "VARIANT=release", *targets], cwd=folder, env=clean,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)


def hiding(top):
    """Python files beside scripts that are named as a module of Python's own library, which scripts there then import instead."""
    return [os.path.join(folder, name) for part in ("tests", "server", "deploy", "examples")
            for folder, _, names in os.walk(os.path.join(top, part))
            for name in names
            if name.endswith(".py") and name[:-3] in sys.stdlib_module_names and "__init__.py" not in names]


class PythonNames(unittest.TestCase):
    def test_none_hides_a_module(self):
        self.assertEqual(hiding(TOP), [])

    def test_one_would_be_found(self):
        with tempfile.TemporaryDirectory() as top:
            os.makedirs(os.path.join(top, "tests", "x"))
            path = os.path.join(top, "tests", "x", "http.py")
            open(path, "w", encoding="utf-8").close()
            self.assertEqual(hiding(top), [path])


class Holds(unittest.TestCase):
    """Each check on the tree itself, against its release build."""

    def holds(self, check):
        done = make(TOP, check)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_includes(self):
        self.holds("layers-includes")

    def test_compiled_dependencies(self):
        self.holds("layers-depends")

    def test_undefined_symbols(self):
        self.holds("layers-symbols")

    def test_names(self):
        self.holds("layers-names")

    def test_no_mutable_globals(self):
        self.holds("layers-globals")

    def test_headers_alone(self):
        self.holds("layers-headers")


class Catches(unittest.TestCase):
    """Each check on a copy of the tree, objects and all where it looks at
    them, with one fault."""

    @classmethod
    def setUpClass(cls):
        done = make(TOP, "build/release/libremat.a", "build/release/libproto.a")
        assert done.returncode == 0, done.stderr

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="layers-")
        self.addCleanup(shutil.rmtree, self.folder)
        for part in PARTS:
            origin = os.path.join(TOP, part)
            target = os.path.join(self.folder, part)
            if os.path.isdir(origin):
                shutil.copytree(origin, target)
            else:
                shutil.copy2(origin, target)
        os.makedirs(os.path.join(self.folder, "tests"))

    def take_objects(self):
        shutil.copytree(os.path.join(TOP, "build", "release"),
                        os.path.join(self.folder, "build", "release"),
                        ignore=shutil.ignore_patterns("tests", "remat*d"))

    def seed(self, path, text):
        with open(os.path.join(self.folder, path), "w", encoding="utf-8") as f:
            f.write(text)

    def catches(self, check, *words):
        self.take_objects()
        done = make(self.folder, check)
        self.assertNotEqual(done.returncode, 0, "the fault went unnoticed")
        for word in words:
            self.assertIn(word, done.stderr)

    def test_core_including_proto(self):
        self.seed("core/seeded.c", '#include "proto.h"\n')
        self.catches_include("core/seeded.c", "proto.h")

    def test_core_including_the_clock(self):
        self.seed("core/seeded.h", "#include <time.h>\n")
        self.catches_include("core/seeded.h", "time.h")

    def test_climbing_out(self):
        self.seed("proto/seeded.c", '#include "../core/arena.h"\n')
        self.catches_include("proto/seeded.c", "climbs out")

    def test_proto_including_a_private_core_header(self):
        self.seed("proto/seeded.c", '#include "arena.h"\n')
        self.catches_include("proto/seeded.c", "arena.h")

    def test_proto_including_the_server_stack(self):
        self.seed("proto/seeded.c", "#include <microhttpd.h>\n")
        self.catches_include("proto/seeded.c", "microhttpd.h")

    def test_server_including_a_private_core_header(self):
        self.seed("server/seeded.c", '#include "arena.h"\n')
        self.catches_include("server/seeded.c", "arena.h")

    def catches_include(self, place, what):
        """The textual check alone: these files need not compile."""
        done = subprocess.run(
            ["sh", "deploy/layers.sh", "includes"], cwd=self.folder,
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(place, done.stderr)
        self.assertIn(what, done.stderr)

    def test_compiled_dependency(self):
        self.take_objects()
        self.seed("build/release/core/seeded.d",
                  "build/release/core/seeded.o: core/seeded.c \\\n"
                  " proto/include/proto.h\n")
        done = subprocess.run(
            ["sh", "deploy/layers.sh", "depends"], cwd=self.folder,
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("proto/include/proto.h", done.stderr)

    def test_undefined_symbol(self):
        self.seed("core/seeded.c", "#include <stdio.h>\nint remat_seeded(void);"
                  "\nint remat_seeded(void)\n{\n    return getchar();\n}\n")
        self.catches("layers-symbols", "getc")

    def test_name_in_core(self):
        self.seed("core/seeded.c", "int seeded(void);\nint seeded(void)\n{\n"
                  "    return 1;\n}\n")
        self.catches("layers-names", "libremat.a", "seeded")

    def test_name_in_proto(self):
        self.seed("proto/seeded.c", "int remat_seeded(void);\n"
                  "int remat_seeded(void)\n{\n    return 1;\n}\n")
        self.catches("layers-names", "libproto.a", "remat_seeded")

    def counter(self, declaration):
        self.seed("core/seeded.c", declaration + "\nint remat_seeded(void);\n"
                  "int remat_seeded(void)\n{\n    return n_calls++;\n}\n")
        self.catches("layers-globals", "n_calls")

    def test_zeroed_global(self):
        self.counter("static int n_calls;")

    def test_initialised_global(self):
        self.counter("static int n_calls = 7;")

    def test_thread_local(self):
        self.counter("static _Thread_local int n_calls;")

    def test_header_that_leans_on_others(self):
        self.seed("proto/seeded.h", "uint32_t proto_seeded(void);\n")
        self.catches("layers-headers", "proto/seeded.h", "uint32_t")

    def test_header_without_guard(self):
        self.seed("core/seeded.h", "struct remat_seeded {\n    int x;\n};\n")
        self.catches("layers-headers", "core/seeded.h")


class LintRules(unittest.TestCase):
    """deploy/lint-rules.sh: what it must refuse, and what it must not."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="lint-")
        self.addCleanup(shutil.rmtree, self.folder)
        for part in ("core", "proto", "server", "tests"):
            os.makedirs(os.path.join(self.folder, part))

    def lint(self, path, text):
        with open(os.path.join(self.folder, path), "w", encoding="utf-8") as f:
            f.write(text)
        return subprocess.run(
            ["sh", os.path.join(TOP, "deploy", "lint-rules.sh")],
            cwd=self.folder, capture_output=True, text=True, timeout=60)

    def refused(self, path, text, word):
        done = self.lint(path, text)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(path, done.stderr)
        self.assertIn(word, done.stderr)

    def test_clean_code(self):
        done = self.lint("core/x.c", "void remat_x(void)\n{\n    y();\n}\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_banned_function(self):
        self.refused("server/x.c", "void x(void)\n{\n    strcpy(a, b);\n}\n",
                     "no bound")

    def test_resume_without_a_wake(self):
        self.refused("server/x.c", "void x(void)\n{\n    MHD_resume_connection(c);\n}\n",
                     "sleeps on")

    def test_allocation_in_core(self):
        self.refused("core/x.c", "void x(void)\n{\n    free(a);\n}\n",
                     "allocates")

    def test_printing_in_proto(self):
        self.refused("proto/x.c", "void x(void)\n{\n    puts(a);\n}\n",
                     "print nothing")

    def test_goto_in_core(self):
        self.refused("core/x.c", "void x(void)\n{\n    goto out;\n}\n", "goto")

    def test_long_function(self):
        body = "    y();\n"
        fits = self.lint("core/x.c", "void x(void)\n{\n" + body * 60 + "}\n")
        self.assertEqual(fits.returncode, 0, fits.stderr)
        self.refused("core/x.c", "void x(void)\n{\n" + body * 61 + "}\n",
                     "61 lines")

    def test_long_file(self):
        self.refused("core/x.c", "/* */\n" * 601, "601 lines")

    def test_reasoned_exception(self):
        done = self.lint("server/x.c", "void x(void)\n{\n    atoi(a);"
                         " /* allow: a constant */\n}\n")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
