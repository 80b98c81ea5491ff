"""An attention problem with the ALiBi bias -|i-j|/sigma, and the forms of attention compared on it.

Each form gives a call without arguments, which returns the output [1, heads, n, head_dim], and a
note on how it works.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from interface import Attention, Implementation, Sampling, checked, view

COMPARED_ROWS = 32
Call = Callable[[], torch.Tensor]


class LeftOut(Exception):
    """Why a form is not measured on a problem."""


class Problem:
    """Batch 1, every head with the same sigma (in positions); normal inputs, all from the seed."""

    def __init__(self, table: Implementation, length: int, sigma: float,
                 options: argparse.Namespace) -> None:
        self.table, self.length, self.sigma, self.options = table, length, sigma, options
        self.threads = 1
        generator = torch.Generator().manual_seed(options.seed)
        shape = 1, length, options.heads, options.head_dim  # in the layout of the C interface
        self.inputs = [torch.randn(shape, generator=generator) for _ in range(3)]
        # [1, heads, n, head_dim], the layout of PyTorch
        self.torch_inputs = [x.transpose(1, 2).contiguous() for x in self.inputs]
        self.scale = options.head_dim**-0.5
        self.slopes = torch.full((1, options.heads), 1 / sigma)

    def partitions(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Counts [1, heads, s] and starts [1, heads, s, n] of blocks, by the library's sampler."""
        heads, samples = self.options.heads, self.options.samples
        sigmas = torch.full((heads,), self.sigma, dtype=torch.float64)
        counts = torch.empty(1, heads, samples, dtype=torch.int64)
        starts = torch.empty(1, heads, samples, self.length, dtype=torch.int64)
        sampling = Sampling(self.options.seed, 0, self.length, view(sigmas), self.threads,
                            view(counts), view(starts))
        checked(self.table, self.table.sample_partitions(ctypes.byref(sampling)))
        return counts, starts

    def bias(self, matrices: int) -> torch.Tensor:
        """-|i-j|/sigma, [n, n], for a form that holds so many more such matrices for each head."""
        gib = 4 * self.length**2 * (1 + matrices * self.options.heads) / 2**30
        if gib > self.options.memory:
            raise LeftOut(f"--memory: its n x n matrices take {gib:.3g} GiB")
        return self.dense_bias

    @cached_property
    def dense_bias(self) -> torch.Tensor:
        """The bias, once it is asked for."""
        position = torch.arange(self.length, dtype=torch.float32)
        return (position[:, None] - position).abs_().mul_(-1 / self.sigma)

    @cached_property
    def exact_rows(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows, and their exact outputs [heads, rows, head_dim] in float64."""
        rows = (2 * torch.arange(COMPARED_ROWS) + 1) * self.length // (2 * COMPARED_ROWS)
        query, key, value = (x[0].double() for x in self.torch_inputs)
        distance = (rows[:, None] - torch.arange(self.length)).abs().double()
        logits = query[:, rows] @ key.mT * self.scale - distance / self.sigma
        return rows, torch.softmax(logits, dim=-1) @ value

    def error(self, output: torch.Tensor) -> float:
        """Relative Frobenius error of an output [1, heads, n, head_dim], over the exact rows."""
        rows, exact = self.exact_rows
        return float((output[0, :, rows].double() - exact).norm() / exact.norm())


def seconds_of(call: Call) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def ours(problem: Problem, fused: bool) -> tuple[Call, str]:
    """Positional LSH attention, or exact ALiBi attention over all keys, through the C interface."""
    query, key, value = map(view, problem.inputs)
    output = torch.empty_like(problem.inputs[0])
    arguments = Attention(query=query, key=key, value=value, scale=problem.scale,
                          threads=problem.threads, output=view(output))
    if fused:
        arguments.block_counts, arguments.block_starts = map(view, problem.partitions())
    else:
        arguments.slopes = view(problem.slopes)
    operation = problem.table.sampled_forward if fused else problem.table.exact_forward

    def call() -> torch.Tensor:
        checked(problem.table, operation(ctypes.byref(arguments)))
        return output.transpose(1, 2)

    return call, ""


def sdpa(problem: Problem) -> tuple[Call, str]:
    """scaled_dot_product_attention with the bias as a dense mask."""
    attend, bias = torch.nn.functional.scaled_dot_product_attention, problem.bias(matrices=0)
    return lambda: attend(*problem.torch_inputs, attn_mask=bias), ""


def plain(problem: Problem, compiled: bool) -> tuple[Call, str]:
    """softmax(q k^T + bias) v as it stands, or compiled."""

    def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bias: torch.Tensor):
        return torch.softmax(query @ key.mT * problem.scale + bias, dim=-1) @ value

    function, bias = torch.compile(attend) if compiled else attend, problem.bias(matrices=3)
    return lambda: function(*problem.torch_inputs, bias), ""


def flex(problem: Problem, reach: float | None) -> tuple[Call, str]:
    """FlexAttention with a score_mod, over all keys or those within reach sigmas."""
    from torch.nn.attention.flex_attention import flex_attention

    attend, slopes = torch.compile(flex_attention, dynamic=False), problem.slopes[0]

    def alibi(score, batch, head, i, j):
        return score - slopes[head] * (i - j).abs()

    # Over all keys too: without a block mask FlexAttention takes half as long again.
    radius = problem.length if reach is None else int(reach * problem.sigma)
    trials: list[tuple[float, int, Call]] = []
    for block in (128,) if reach is None else (16, 32, 64, 128):
        mask = window_mask(problem.length, radius, block)
        call = partial(attend, *problem.torch_inputs, score_mod=alibi, block_mask=mask)
        call()
        trials.append((min(seconds_of(call) for _ in range(3)), block, call))
    _, block, call = min(trials)
    return call, f"blocks of {block}"


def window_mask(length: int, radius: int, block: int):
    """The BlockMask of |i-j| <= radius, made from lists of blocks and not from an n x n mask."""
    from torch.nn.attention.flex_attention import BlockMask

    radii = torch.tensor([radius])  # as a tensor: every radius then has the same compiled code

    def window(batch, head, i, j):
        return (i - j).abs() <= radii[0]

    def listed(blocks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """For each block of queries how many blocks of keys it has, and which: these come first."""
        order = blocks.to(torch.int8).argsort(dim=-1, descending=True, stable=True)
        return blocks.sum(-1).to(torch.int32)[None, None], order.to(torch.int32)[None, None]

    index = torch.arange(-(-length // block))
    apart = (index[:, None] - index).abs()
    seen = (apart - 1) * block + 1 <= radius
    # All pairs of two whole blocks are seen. The last block may reach beyond the last key.
    whole = ((apart + 1) * block - 1 <= radius) | (radius >= length)
    whole &= (index + 1) * block <= length
    return BlockMask.from_kv_blocks(*listed(seen & ~whole), *listed(whole), block, window,
                                    seq_lengths=(length, length))


@dataclass(frozen=True)
class Form:
    """A form of attention, and the power of n with which its time grows."""

    name: str
    build: Callable[[Problem], tuple[Call, str]]
    growth: int


FUSED, EXACT = "ours, fused", "ours, exact"
OURS = Form(FUSED, partial(ours, fused=True), 1), Form(EXACT, partial(ours, fused=False), 2)
PEERS = (
    Form("SDPA, dense bias", sdpa, 2),
    Form("plain", partial(plain, compiled=False), 2),
    Form("plain, compiled", partial(plain, compiled=True), 2),
    Form("FlexAttention", partial(flex, reach=None), 2),
    Form("FlexAttention, 7 sigma", partial(flex, reach=7), 1),
    Form("FlexAttention, 2.3 sigma", partial(flex, reach=2.3), 1),
)
