"""Compressed bodies for tests. gzip is Python's; zstd is the command, or written by hand where a frame has to be a strange one."""
import gzip
import subprocess

import graphs


def command(*words, data):
    return subprocess.run(words, input=data, capture_output=True, timeout=300, check=True).stdout


def gzip_of(data):
    return gzip.compress(data, 6, mtime=0)


def zstd_of(data):
    return command("zstd", "-q", "-c", "-3", data=data)


def unzstd(data):
    return command("zstd", "-q", "-d", "-c", data=data)


ENCODERS = {"gzip": gzip_of, "zstd": zstd_of}
FAST_ENCODERS = {"gzip": lambda data: gzip.compress(data, 1, mtime=0), "zstd": lambda data: command("zstd", "-q", "-c", "-1", data=data)}
DECODERS = {"gzip": gzip.decompress, "zstd": unzstd}

ZSTD_RAW, ZSTD_RUN = 0, 1  # kinds of blocks
ZSTD_BLOCK = 1 << 17  # most bytes of one


def zstd_window(log):
    """The head of a frame whose window is 2**log bytes."""
    return b"\x28\xb5\x2f\xfd\x00" + bytes([(log - 10) << 3])


def zstd_block(kind, content, last, size=None):
    """`size`: of a run, how often its one byte stands there."""
    return ((len(content) if size is None else size) << 3 | kind << 1 | last).to_bytes(3, "little") + content


def zstd_bomb(n_bytes):
    """Four bytes for each 128 KiB."""
    runs = n_bytes // ZSTD_BLOCK
    return zstd_window(17) + zstd_block(ZSTD_RUN, b" ", False, ZSTD_BLOCK) * runs + zstd_block(ZSTD_RAW, b"", True)


def gzip_bomb(n_bytes):
    return gzip.compress(bytes(n_bytes), 9, mtime=0)


def large_document(n_bytes):
    """A graph of exactly that many bytes, most of them random text that the decision does not look at."""
    document = graphs.chain(max(8, n_bytes >> 20))
    with open("/dev/urandom", "rb") as random:
        text = random.read((1 << 20) // 2).hex()
    nodes = document["nodes"]
    part = (n_bytes - len(graphs.encode(document))) // len(nodes) - 20
    for i, node in enumerate(nodes):
        at = i * 7919 % 1000
        node["stack"] = (text[at:] + text)[:part]
    encoded = graphs.encode(document)
    return encoded + b" " * (n_bytes - len(encoded))


def peak_bytes(pid):
    """The most that was resident at a time."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
