#!/usr/bin/env python3
"""Compare the forward pass of extract_qkv.py with llama.cpp on the same tokens.

Both the token ids of the whole text and the next-token distributions at every 16th position are
compared.  llama.cpp rounds activations to 8 bits in its quantised products, so the distributions
agree closely but not exactly.  Needs xllamacpp (llama.cpp as a PyPI wheel) in the same venv:

  pip install --no-deps -r requirements.txt xllamacpp==2026.10.11549
  python crosscheck.py

Exit status: 0 they agree, 1 they do not, 2 the comparison could not be run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import urllib.request
from pathlib import Path

import extract_qkv as own  # first: it fixes the thread count before numpy is loaded
import numpy as np

STRIDE = 16
MEAN_KL_LIMIT = 0.01


class LlamaCpp:
    """A llama.cpp server inside this process, asked over the loopback interface."""

    def __init__(self, model: Path) -> None:
        import xllamacpp

        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(model)
        parameters.n_ctx = 2 * own.TOKENS
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = 1
        parameters.warmup = False
        parameters.verbosity = 0
        self.server = xllamacpp.Server(parameters)

    def post(self, path: str, body: dict) -> dict:
        """Send one request."""
        request = urllib.request.Request(
            self.server.listening_address + path,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def tokenize(self, text: str) -> list[int]:
        """Token ids of a text."""
        return self.post("/tokenize", {"content": text, "add_special": False})["tokens"]

    def log_probabilities(self, tokens: list[int]) -> np.ndarray:
        """Log-probabilities of the token behind the given ones."""
        body = {"prompt": tokens, "n_predict": 1, "n_probs": own.VOCABULARY, "temperature": 0}
        answer = self.post("/completion", body | {"cache_prompt": True})
        result = np.full(own.VOCABULARY, -np.inf)
        for entry in answer["completion_probabilities"][0]["top_logprobs"]:
            result[entry["id"]] = entry["logprob"]
        return result


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Log-probabilities of one row of logits."""
    shifted = logits.astype(np.float64) - logits.max()
    return shifted - np.log(np.exp(shifted).sum())


def compare(path: Path, text: str) -> int:
    """Run both and print the comparison; return the exit status."""
    reader = own.open_gguf(path)
    tokens = own.load_tokenizer(reader).encode(text).ids
    other = LlamaCpp(path)
    same_tokens = other.tokenize(text) == tokens
    print(f"token ids of the whole text ({len(tokens)}): {'equal' if same_tokens else 'DIFFER'}")

    tokens = tokens[: own.TOKENS]
    model = own.load_model(reader)
    hidden = own.forward(model, tokens)
    rows = []
    for position in range(STRIDE - 1, len(tokens) - 1, STRIDE):
        ours = log_softmax(model.embedding @ hidden[position])
        theirs = other.log_probabilities(tokens[: position + 1])
        seen = np.isfinite(theirs)
        divergence = float(np.sum(np.exp(theirs[seen]) * (theirs[seen] - ours[seen])))
        following = tokens[position + 1]
        top = ours.argmax() == theirs.argmax()
        rows.append((ours[following], theirs[following], divergence, top))
    ours, theirs, divergence, top = np.array(rows, dtype=np.float64).T
    print(f"positions: {len(rows)}, same most likely token at {int(top.sum())}")
    print(f"perplexity: {np.exp(-ours.mean()):.2f} here, {np.exp(-theirs.mean()):.2f} in llama.cpp")
    print(f"KL divergence: mean {divergence.mean():.4f}, largest {divergence.max():.4f} nats")
    agree = same_tokens and divergence.mean() <= MEAN_KL_LIMIT
    print("agree" if agree else "DISAGREE")
    return 0 if agree else 1


def main() -> int:
    """Command line entry point."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gguf", type=Path, help=f"model file (default: from {own.PACKAGE})")
    arguments = parser.parse_args()
    try:
        if own.MISSING:
            raise own.Refused(f"Python package {own.MISSING} is missing; see requirements.txt")
        text = own.DEFAULT_TEXT.read_bytes().decode("utf-8")
        return compare(arguments.gguf or own.packaged_gguf(), text)
    except (own.Refused, ImportError, OSError) as error:
        print(f"crosscheck: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # the server's threads do not stop by themselves
