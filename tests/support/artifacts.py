"""Compares PyTorch's artifact min_cut_information with what `remat export` makes of the same decision."""
import json

NODES = "Joint Graph Node Information"


def has_symbols(shape):
    return any(c.isalpha() for c in shape.removeprefix("torch.Size("))


def differences(theirs, ours):
    """What is not equal, as texts. Of a stack, a document has the innermost frame; of a symbolic size, the hint; of a function of
    Python, no address."""
    found = [f"keys {set(theirs) ^ set(ours)}"] if theirs.keys() != ours.keys() else []
    for key in theirs.keys() - {NODES}:
        if theirs[key] != ours.get(key):
            found.append(f"{key}: {str(theirs[key])[:200]} against {str(ours.get(key))[:200]}")
        elif isinstance(theirs[key], float) != isinstance(ours[key], float):
            found.append(f"{key}: another type of number")
    if list(theirs[NODES]) != list(ours.get(NODES, ())):
        return [*found, "names or order of nodes"]
    for name, node in theirs[NODES].items():
        other = dict(ours[NODES][name])
        if has_symbols(node["shape"]) and node["shape"].count(",") == other["shape"].count(","):
            other["shape"] = node["shape"]
        if node["target"].startswith("<function ") and node["target"].split()[1] == other["target"].rpartition(".")[2]:
            other["target"] = node["target"]
        frames = [frame.strip() for frame in node["stack_trace"].split("File ")[1:]]
        innermost = " | ".join(line.strip() for line in frames[-1].split("\n")[:2]) if frames else ""
        if other["stack_trace"] == (f"File {innermost}" if frames else ""):
            other["stack_trace"] = node["stack_trace"]
        if node != other:
            found.append(f"{name}: {json.dumps(node)[:300]} against {json.dumps(other)[:300]}")
    return found
