"""What every suite with PyTorch needs: the package on the path, a daemon per suite."""
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "proto", "python"))
os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # sums in one order
# Or each process compiles a program for each kind of vector instruction to try it out, which takes as long as all the rest.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")

import daemon
import torch

torch.set_num_threads(1)
TORTURE = os.environ.get("REMAT_LEVEL") == "torture"


class WithDaemon(unittest.TestCase):
    """`url` of a daemon that lives as long as the class; `partitioner()` makes a strict one."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = daemon.Daemon()
        cls.url = f"http://{cls.daemon.host}"

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def partitioner(self, **more):
        import rematd
        return rematd.Partitioner(self.url, **{"strict": True, "timeout_s": 120.0, "connect_timeout_s": 60.0, **more})
