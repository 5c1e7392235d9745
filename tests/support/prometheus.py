"""A strict reader of Prometheus' text format 0.0.4, written from its specification, not from the writer.

parse(text) gives {family: Family}; whatever is not as it should be is an AssertionError that names the line.
"""
import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{((?:{LABEL})(?:,{LABEL})*)\}})? (\S+)")
TYPES = ("counter", "gauge", "histogram", "summary", "untyped")


class Family:
    def __init__(self, name, kind, told):
        self.name, self.kind, self.help = name, kind, told
        self.samples = {}  # {(name of the series, ((label, value), ...)): number}

    def value(self, series=None, **labels):
        """The value of one series, 0 when it is not there."""
        return self.samples.get((series or self.name, tuple(sorted(labels.items()))), 0)

    def total(self, series=None, **labels):
        """The sum of all series that have these labels."""
        return sum(value for (name, of), value in self.samples.items()
                   if name == (series or self.name) and labels.items() <= dict(of).items())

    def labels(self):
        return {label for _, of in self.samples for label, _ in of}


def unescape(text):
    return re.sub(r"\\(.)", lambda found: "\n" if found.group(1) == "n" else found.group(1), text)


def parse_value(text):
    if text in ("+Inf", "-Inf", "NaN"):
        return float(text)
    assert re.fullmatch(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", text), text
    return float(text)


def parse(text):
    assert text.endswith("\n"), "the last line must end"
    assert "\r" not in text and "\t" not in text
    families, told, current = {}, {}, None
    for number, line in enumerate(text.split("\n")[:-1], 1):
        where = f"line {number}: {line!r}"
        assert line, where
        if line.startswith("# HELP "):
            name, _, words = line[7:].partition(" ")
            assert re.fullmatch(NAME, name) and name not in told and words, where
            assert not re.search(r"\\[^\\n]", words), where
            told[name], current = words, None
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert kind in TYPES and name in told and name not in families, where
            assert next(reversed(told)) == name, where  # right behind its HELP
            current = families[name] = Family(name, kind, told[name])
        else:
            read_sample(current, line, where)
    assert set(told) == set(families)
    for family in families.values():
        check_family(family)
    return families


def read_sample(family, line, where):
    found = SAMPLE.fullmatch(line)
    assert found and family, where
    name = found.group(1)
    labels = tuple(sorted((label, unescape(value)) for label, value in re.findall(LABEL, found.group(2) or "")))
    assert len({label for label, _ in labels}) == len(labels), where
    suffixes = ("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",)
    assert name in [family.name + suffix for suffix in suffixes], where
    assert ("le" in dict(labels)) == name.endswith("_bucket"), where
    assert (name, labels) not in family.samples, where
    family.samples[name, labels] = parse_value(found.group(found.lastindex))


def check_family(family):
    for (name, labels), value in family.samples.items():
        where = f"{name}{labels}"
        assert math.isfinite(value), where
        assert value >= 0 or family.kind == "gauge", where
    if family.kind == "counter":
        assert family.name.endswith("_total"), family.name
    else:
        assert not family.name.endswith(("_total", "_bucket", "_sum", "_count")), family.name
    if family.kind == "histogram":
        check_histogram(family)


def check_histogram(family):
    buckets = {}
    for (name, labels), value in family.samples.items():
        if name.endswith("_bucket"):
            rest = tuple(pair for pair in labels if pair[0] != "le")
            buckets.setdefault(rest, []).append((float(dict(labels)["le"]), value))
    for rest, found in buckets.items():
        bounds, counts = zip(*found)
        assert list(bounds) == sorted(set(bounds)) and bounds[-1] == math.inf, (family.name, rest)
        assert list(counts) == sorted(counts), (family.name, rest)
        assert counts[-1] == family.samples[family.name + "_count", rest], (family.name, rest)
        assert (family.name + "_sum", rest) in family.samples, (family.name, rest)
    others = {labels for name, labels in family.samples if not name.endswith("_bucket")}
    assert others == set(buckets), family.name
