"""Positional LSH attention and exact ALiBi attention in PyTorch, on the CPU.

`implementation()` returns an object for `plsh check --python positional_lsh:implementation`. Its
methods get an object with the fields of the C interface (plsh/interface/implementation.h), tensors
as DLPack objects, and write into the output tensors.
"""

import numpy
import torch


def implementation():
    return PositionalLsh()


def tensor(argument):
    """The tensor of an argument, without a copy."""
    if any(stride < 0 for stride in argument.strides):
        raise NotImplementedError("PyTorch has no negative strides")
    return torch.from_dlpack(argument)


# All pairs of a query and a key are held at once, about ten times over in backward.
MOST_PAIRS = 1 << 24


def set_threads(count):
    # 0 leaves the choice to us. Setting is slow, even to the present number.
    if count not in (0, torch.get_num_threads()):
        torch.set_num_threads(count)


# ---- products over the keys that a query sees
#
# A masked weight is 0, but 0 * NaN is NaN: in a plain product one NaN in a value, which a causal
# mask hides, would reach every query. These functions and their gradients leave out what is not
# seen, whatever it holds.


def pool(weights, rows, seen):
    """out[..., i] = sum of weights[..., i, j] rows[..., j] over the j with seen[..., i, j]."""
    weights = weights.masked_fill(~seen, 0)
    bad = ~torch.isfinite(rows).all(dim=-1)
    result = weights @ rows.masked_fill(bad[..., None], 0)
    for j in torch.nonzero(bad.flatten(0, -2).any(dim=0))[:, 0].tolist():
        term = weights[..., j, None] * rows[..., None, j, :]
        counts = seen[..., j, None] & bad[..., None, j, None]
        result = torch.where(counts, result + term, result)
    return result


class Scores(torch.autograd.Function):
    """query @ key^T; what is not seen is -infinity."""

    @staticmethod
    def forward(ctx, query, key, seen):
        ctx.save_for_backward(query, key, seen)
        return (query @ key.mT).masked_fill(~seen, -torch.inf)

    @staticmethod
    def backward(ctx, gradient):
        query, key, seen = ctx.saved_tensors
        return pool(gradient, key, seen), pool(gradient.mT, query, seen.mT), None


class Pool(torch.autograd.Function):
    """weights @ value."""

    @staticmethod
    def forward(ctx, weights, value, seen):
        ctx.save_for_backward(weights, value, seen)
        return pool(weights, value, seen)

    @staticmethod
    def backward(ctx, gradient):
        weights, value, seen = ctx.saved_tensors
        weights_gradient = (gradient @ value.mT).masked_fill(~seen, 0)
        return weights_gradient, pool(weights.mT, gradient, seen.mT), None


def attention(query, key, value, scale, bias, factor, seen):
    """query [batch, heads, n_q, head_dim], key and value [batch, heads, n_k, ...].

    The weight of key j for query i is factor exp(scale q.k + bias), if it is seen. Returns the
    output and the log-sum-exp.
    """
    if key.shape[-2] == 0:  # no largest logit
        empty = query.new_zeros(*query.shape[:-1], value.shape[-1])
        return empty, query.new_full(query.shape[:-1], -torch.inf)
    logits = Scores.apply(query, key, seen) * scale + bias
    empty = ~seen.any(dim=-1, keepdim=True)
    largest = logits.detach().amax(dim=-1, keepdim=True).masked_fill(empty, 0)
    weights = factor * torch.exp(logits - largest)
    total = weights.sum(dim=-1, keepdim=True)
    output = Pool.apply(weights / total.masked_fill(empty, 1), value, seen)
    return output, (torch.log(total) + largest).detach()[..., 0]


# ---- what the queries see


def query_positions(n_q, n_k):
    """The last query is at the last key, as in decoding with a cache."""
    return torch.arange(n_q) + (n_k - n_q)


def causally_seen(n_q, n_k, causal):
    if not causal:
        return torch.ones(n_q, n_k, dtype=torch.bool)
    return torch.arange(n_k) <= query_positions(n_q, n_k)[:, None]


def exact_weights(slopes, n_q, n_k, causal, dtype):
    """Bias, factor and what is seen, for slopes [batch, heads]."""
    distance = (query_positions(n_q, n_k)[:, None] - torch.arange(n_k)).abs()
    bias = -slopes.to(dtype)[..., None, None] * distance.to(dtype)
    seen = causally_seen(n_q, n_k, causal).expand(bias.shape)
    return bias, torch.ones((), dtype=dtype), seen


def sampled_weights(counts, starts, n_q, n_k, causal, dtype):
    """The same for partitions: counts [batch, heads, samples], starts [..., samples, capacity]."""
    positions = query_positions(n_q, n_k)
    inside = (positions >= 0) & (positions < n_k)
    factor = torch.zeros(*counts.shape[:2], n_q, n_k, dtype=dtype)
    factor[..., inside, :] = mean_of_masks(counts, starts, n_k, positions[inside], dtype)
    seen = (factor > 0) & causally_seen(n_q, n_k, causal)
    return torch.zeros((), dtype=dtype), factor, seen


def mean_of_masks(counts, starts, length, rows, dtype):
    """The given rows of the mean of the masks, [batch, heads, rows, length]."""
    batch, heads, samples = counts.shape
    total = torch.zeros(batch, heads, len(rows), length, dtype=dtype)
    padding = torch.arange(starts.shape[-1]) >= counts[..., None]
    starts = starts.masked_fill(padding, 0)  # at position 0 a block begins anyway
    for s in range(samples if len(rows) > 0 else 0):
        begins = torch.zeros(batch, heads, length, dtype=torch.int64)
        block = begins.scatter_(-1, starts[:, :, s], 1).cumsum(dim=-1)
        total += block[..., rows, None] == block[..., None, :]
    return total / samples


# ---- the implementation


class PositionalLsh:
    name = "PyTorch"
    version = torch.__version__
    # PyTorch does not promise the same bits on another number of threads.
    conventions = {
        "slope_rule": "interleaved",
        "bin_rule": "floor",
        "bin_precision": "f64",
        "causal_alignment": "bottom_right",
        "empty_row": "zero",
        "lse_base": "natural",
        "lse_bias": "distance",
        "lse_weights": "mean",
        "head_grouping": "consecutive",
        "batch_samples": "distinct",
        "promises": ["sample_offsets"],
        "precision": {  # everything is computed in f32, or in f64 for f64
            name: dict.fromkeys(("logits", "bias", "weights", "accumulation"),
                                "f64" if name == "f64" else "f32")
            for name in ("f32", "f64", "f16", "bf16")
        },
    }

    def slopes(self, x):
        slopes = tensor(x.slopes)
        heads = len(slopes)
        power = 1 << (heads.bit_length() - 1)  # the largest power of two up to heads
        exponents = torch.cat([
            torch.arange(1, power + 1, dtype=torch.float64) / power,
            torch.arange(1, 2 * (heads - power) + 1, 2, dtype=torch.float64) / (2 * power),
        ])
        slopes.copy_(torch.exp2(-8 * exponents))

    def bins(self, x):
        positions, widths, shifts = tensor(x.positions), tensor(x.widths), tensor(x.shifts)
        begins = block_begins(positions.double(), widths, shifts)
        tensor(x.bins).copy_(begins.cumsum(dim=-1))

    def sample_partitions(self, x):
        counts, starts = tensor(x.block_counts), tensor(x.block_starts)
        batch, heads, samples = counts.shape
        positions = torch.arange(x.length)
        for b in range(batch):
            for h, sigma in enumerate(tensor(x.sigma).tolist()):
                # A stream for each item and head. Its counter is the number of the sample, so that
                # drawing can start anywhere: one step of Philox gives four numbers.
                key = x.seed | b << 96 | h << 64
                philox = numpy.random.Philox(key=key, counter=x.first_sample)
                uniform = torch.from_numpy(numpy.random.Generator(philox).random((samples, 4)))
                # The sum of two exponentials is Gamma(2). It is 0 once in 2^106 draws.
                widths = -sigma * torch.log1p(-uniform[:, :2]).sum(dim=-1)
                shifts = widths * uniform[:, 2]
                begins = block_begins(positions.double(), widths, shifts)
                counts[b, h] = begins.sum(dim=-1)
                # The starts in order; behind them, where the entries do not count, the length.
                starts[b, h] = torch.where(begins, positions, x.length).sort(dim=-1).values

    def mean_mask(self, x):
        mask = tensor(x.mask)
        length = mask.shape[-1]
        mask.copy_(mean_of_masks(tensor(x.block_counts), tensor(x.block_starts), length,
                                 torch.arange(length), mask.dtype))

    def exact_forward(self, x):
        for part in parts(x):
            part.forward()

    def exact_backward(self, x):
        for part in parts(x):
            part.backward()

    sampled_forward = exact_forward
    sampled_backward = exact_backward


def block_begins(positions, widths, shifts):
    """[samples, n]: whether a position begins a block; the first one always does."""
    # Up to the width 1 all positions are alone. Raising smaller widths keeps the quotient finite.
    widths = widths[:, None].clamp(min=0.5)
    bin_numbers = torch.floor((positions - shifts[:, None]) / widths)
    begins = torch.ones(bin_numbers.shape, dtype=torch.bool)
    begins[:, 1:] = bin_numbers[:, 1:] != bin_numbers[:, :-1]
    return begins


def parts(x):
    """The whole batch at once, or one sequence of variable length after another."""
    set_threads(x.threads)
    if x.query_starts is None:
        yield Part(x, slice(None), slice(None), slice(None))
    else:
        query_starts, key_starts = tensor(x.query_starts).tolist(), tensor(x.key_starts).tolist()
        for s in range(len(query_starts) - 1):
            yield Part(x, slice(query_starts[s], query_starts[s + 1]),
                       slice(key_starts[s], key_starts[s + 1]), slice(s, s + 1))


class Part:
    """The attention of some queries and keys; `items` are their slopes and partitions."""

    def __init__(self, x, queries, keys, items):
        self.x, self.queries, self.keys, self.items = x, queries, keys, items
        self.inputs = self.of_queries(x.query), self.of_keys(x.key), self.of_keys(x.value)
        # The type to work in.
        self.dtype = torch.promote_types(self.inputs[0].dtype, torch.float32)

    def of_queries(self, argument):
        """[batch, heads, n_q, dim]"""
        return tensor(argument)[:, self.queries].transpose(1, 2)

    def of_keys(self, argument):
        return tensor(argument)[:, self.keys].transpose(1, 2)

    def attend(self, query, key, value):
        x = self.x
        sizes = query.shape[2], key.shape[2], x.causal, self.dtype
        if query.shape[0] * query.shape[1] * query.shape[2] * key.shape[2] > MOST_PAIRS:
            raise NotImplementedError(f"more than {MOST_PAIRS} pairs of a query and a key")
        if x.slopes is not None:
            weights = exact_weights(tensor(x.slopes)[self.items], *sizes)
        else:
            weights = sampled_weights(tensor(x.block_counts)[self.items],
                                      tensor(x.block_starts)[self.items], *sizes)
        group = query.shape[1] // key.shape[1]
        return attention(query, key.repeat_interleave(group, dim=1),
                         value.repeat_interleave(group, dim=1), x.scale, *weights)

    def forward(self):
        output, log_sum_exp = self.attend(*(t.to(self.dtype) for t in self.inputs))
        self.of_queries(self.x.output).copy_(output)
        if self.x.log_sum_exp is not None:
            tensor(self.x.log_sum_exp)[:, :, self.queries] = log_sum_exp

    def backward(self):
        inputs = [t.to(self.dtype).detach().requires_grad_() for t in self.inputs]
        output, _ = self.attend(*inputs)
        if output.requires_grad:  # not without a key
            output.backward(self.of_queries(self.x.output_gradient).to(self.dtype))
        gradients = [torch.zeros_like(t) if t.grad is None else t.grad for t in inputs]
        self.of_queries(self.x.query_gradient).copy_(gradients[0])
        self.of_keys(self.x.key_gradient).copy_(gradients[1])
        self.of_keys(self.x.value_gradient).copy_(gradients[2])
