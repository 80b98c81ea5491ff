"""Checks PyTorch, in float64, against the forward vectors: run_vectors.py FILE."""
import json
import math
import sys
import torch


def read(x):  # "0x1.8p+1", the middle of an interval ["0.1", "0.2"], or a list of these
    if isinstance(x, str):
        return torch.tensor(float.fromhex(x))
    interval = isinstance(x[0], str) and "x" not in x[0] and "inf" not in x[0]
    return torch.tensor(sum(map(float, x)) / 2) if interval else torch.stack([*map(read, x)])


torch.set_default_dtype(torch.float64)
results = []
for group in json.load(open(sys.argv[1]))["groups"]:
    for vector in group["vectors"] if group["operation"].endswith("_forward") else []:
        a, want, error = vector["input"], vector["expected"], vector["tolerance"]["f64"]
        q, k, v = (read(a[name]).transpose(1, 2) for name in ("query", "key", "value"))
        h, i, j = (torch.arange(x) for x in (q.shape[1], q.shape[2], k.shape[2]))
        h = h % k.shape[1] if a.get("head_grouping") == "interleaved" else h * k.shape[1] // len(h)
        i = i[:, None] + (len(j) - len(i) if a.get("causal_alignment") == "bottom_right" else 0)
        x = read(a["scale"]) * q @ k[:, h].transpose(2, 3)
        if "slopes" in a:
            x -= read(a["slopes"])[..., None, None] * (i - j).abs()
        for y, s in zip(x.flatten(0, 1), sum(a.get("block_starts", []), [])):
            masks = [math.prod((c <= i) == (c <= j) for c in [*starts, len(j)]) for starts in s]
            y += (sum(masks) / len(s)).log()
        x = x.masked_fill((j > i) & a["causal"], -torch.inf)
        got = (x.softmax(-1).nan_to_num() @ v[:, h]).transpose(1, 2), x.logsumexp(-1)
        results += [all(torch.allclose(y, read(want[n]), 0, error[n]) for y, n in zip(got, want))]
print(f"{results.count(True)} passed, {results.count(False)} failed")
sys.exit(not results or not all(results))
