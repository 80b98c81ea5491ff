/**
 * \file
 * The interface of an implementation under test: one C header, one exported symbol.
 *
 * A shared library that wants to be checked exports
 *
 *     const plsh_implementation* plsh_implementation_v1(void);
 *
 * and returns a table that lives as long as the library. Every operation in the table may be null
 * ("not offered"); what is offered is checked, under the conventions the table declares. Zero is a
 * valid value of every declaration, so a table starts as `{0}`.
 *
 * General rules
 *  - All tensors are DLPack tensors. `shape` and `strides` are always set; strides count elements
 *    and may be any, on every axis: larger than a packed tensor's, in another order, and 0 on an
 *    axis of an input. `byte_offset` is 0. `data` is aligned to the element.
 *  - The caller owns every tensor and every array. Inputs are read only. Outputs must be written
 *    entirely: they arrive filled with a NaN (floats) or a sentinel (integers). Nothing else may be
 *    written. Nothing may be kept after the call returns.
 *  - An operation returns PLSH_OK, or PLSH_REFUSED when the arguments are valid but beyond what
 *    this implementation supports (a head dimension, a type, a layout); the case is then counted as
 *    refused, not as passed. Any other value is a failure. On PLSH_REFUSED and on failure the
 *    outputs are not looked at, and `error_message`, if offered, is asked for the reason.
 *  - Operations must not throw through this interface. They may be called from any one thread.
 *  - Positions are the integers 0, 1, ... of a sequence. Lengths and counts are int64.
 */
#ifndef PLSH_INTERFACE_IMPLEMENTATION_H
#define PLSH_INTERFACE_IMPLEMENTATION_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLSH_INTERFACE_VERSION 1

/** What an operation returns. */
enum plsh_status {
  PLSH_OK = 0,
  PLSH_REFUSED = 1, /**< valid arguments that this implementation does not support */
  PLSH_FAILED = 2   /**< any other value than these three counts as PLSH_FAILED too */
};

/** A floating-point type. */
enum plsh_type { PLSH_F32 = 0, PLSH_F64 = 1, PLSH_F16 = 2, PLSH_BF16 = 3 };

/* ---- conventions: what cannot be judged unless it is declared ------------------------------- */

/** The slopes m_h of H heads, h = 0..H-1. For H a power of two both are m_h = 2^(-8 (h+1)/H). */
enum plsh_slope_rule {
  PLSH_SLOPES_INTERLEAVED = 0, /**< the ALiBi authors' code: the slopes of the largest power of two
                                    P <= H, then every second slope of the 2P-head set */
  PLSH_SLOPES_GEOMETRIC = 1    /**< m_h = 2^(-8 (h+1)/H) for every H */
};

/** The hash of position i for width w and shift u. All four have the same law of masks. */
enum plsh_bin_rule {
  PLSH_BIN_FLOOR = 0,      /**< floor((i - u)/w) */
  PLSH_BIN_FLOOR_PLUS = 1, /**< floor((i + u)/w) */
  PLSH_BIN_CEIL = 2,       /**< ceil((i - u)/w) */
  PLSH_BIN_ROUND = 3       /**< (i - u)/w rounded to the nearest integer, halves up:
                                floor((i - u)/w + 1/2) */
};

/** The precision in which bins are computed. Exact arithmetic is what they are compared with; a
 *  position may land in a neighbouring bin only within the rounding error of this precision. */
enum plsh_bin_precision { PLSH_BINS_F32 = 0, PLSH_BINS_F64 = 1, PLSH_BINS_EXACT = 2 };

/** The position of query i when there are n_q queries and n_k keys. */
enum plsh_causal_alignment {
  PLSH_ALIGN_TOP_LEFT = 0,    /**< position i: the first query is at the first key */
  PLSH_ALIGN_BOTTOM_RIGHT = 1 /**< position i + n_k - n_q: the last query is at the last key; the
                                   alignment of decoding with a cache */
};

/** The output of a row that sees no key. Its log-sum-exp is -infinity in every case. */
enum plsh_empty_row {
  PLSH_EMPTY_ZERO = 0,
  PLSH_EMPTY_NAN = 1,
  PLSH_EMPTY_ANYTHING = 2 /**< not compared, log-sum-exp included */
};

/** The base of the log-sum-exp. */
enum plsh_lse_base { PLSH_LSE_NATURAL = 0, PLSH_LSE_BASE_2 = 1 };

/** The log-sum-exp of exact ALiBi attention. */
enum plsh_lse_bias {
  PLSH_LSE_DISTANCE = 0, /**< of scale q.k - m |i - j| */
  PLSH_LSE_SHIFTED = 1   /**< a constant was added to every logit of a row, e.g. a bias that depends
                              on the key only, under a causal mask; not compared */
};

/** The log-sum-exp of sampled attention. */
enum plsh_lse_weights {
  PLSH_LSE_MEAN = 0, /**< ln sum_j M~_ij exp(scale q_i.k_j) */
  PLSH_LSE_COUNT = 1 /**< ln sum_j s M~_ij exp(scale q_i.k_j) */
};

/** Which key/value head a query head uses, for H query heads and G key/value heads, G | H. */
enum plsh_head_grouping {
  PLSH_GROUP_CONSECUTIVE = 0, /**< head h uses h / (H/G): 0,0,1,1 */
  PLSH_GROUP_INTERLEAVED = 1  /**< head h uses h mod G: 0,1,0,1 */
};

/** Whether the items of a batch draw partitions of their own. */
enum plsh_batch_samples { PLSH_BATCH_DISTINCT = 0, PLSH_BATCH_SHARED = 1 };

/** What the implementation promises, or'ed together; each promise is checked. */
enum plsh_promise {
  PLSH_DETERMINISTIC_FORWARD = 1,  /**< the same arguments give the same bits */
  PLSH_DETERMINISTIC_BACKWARD = 2, /**< the same for the gradients */
  PLSH_THREAD_INDEPENDENT = 4,     /**< samples, and what is deterministic, do not depend on the
                                        number of threads */
  PLSH_SAMPLE_OFFSETS = 8          /**< `first_sample` is supported */
};

/** The types an implementation works in, for inputs of one type. */
typedef struct plsh_precision {
  int32_t supported;    /**< 0: tensors of this type are refused */
  int32_t logits;       /**< plsh_type in which q.k is accumulated and the logits are held */
  int32_t bias;         /**< plsh_type in which slopes and the bias m |i - j| are held */
  int32_t weights;      /**< plsh_type in which exp(logit) is held for the product with V, and the
                             gradient of a logit for the products with Q and K */
  int32_t accumulation; /**< plsh_type of the sums over keys, and over queries in backward */
} plsh_precision;

typedef struct plsh_conventions {
  int32_t slope_rule;          /**< plsh_slope_rule */
  int32_t bin_rule;            /**< plsh_bin_rule */
  int32_t bin_precision;       /**< plsh_bin_precision */
  int32_t causal_alignment;    /**< plsh_causal_alignment */
  int32_t empty_row;           /**< plsh_empty_row */
  int32_t lse_base;            /**< plsh_lse_base */
  int32_t lse_bias;            /**< plsh_lse_bias */
  int32_t lse_weights;         /**< plsh_lse_weights */
  int32_t head_grouping;       /**< plsh_head_grouping */
  int32_t batch_samples;       /**< plsh_batch_samples */
  uint32_t promises;           /**< plsh_promise, or'ed */
  plsh_precision precision[4]; /**< indexed by plsh_type, the type of Q, K, V and the outputs */
} plsh_conventions;

/* ---- partitions ------------------------------------------------------------------------------
 * The partitions of one call are two int64 tensors:
 *   block_counts  [batch, heads, samples]            number of blocks, 1..capacity (0 for a
 * sequence without keys, as an input of attention) block_starts  [batch, heads, samples, capacity]
 * 0 = c_0 < c_1 < ... < c_{count-1} < length Block b holds the positions c_b .. c_{b+1} - 1, the
 * last one up to length - 1. Entries from count on are padding: never read them, and writing them
 * is allowed. capacity >= 1 when they are an input, and capacity = length when they are an output.
 */

/** Arguments of `sample_partitions`. */
typedef struct plsh_sampling {
  uint64_t seed;          /**< other seeds give independent samples */
  int64_t first_sample;   /**< draw samples first_sample, first_sample + 1, ...; 0 unless
                               PLSH_SAMPLE_OFFSETS is promised */
  int64_t length;         /**< n >= 1 */
  const DLTensor* sigma;  /**< f64 [heads], decay lengths in positions, 0.01 to 10^6 */
  int32_t threads;        /**< number of threads to use, >= 1; 0 leaves the choice to you */
  DLTensor* block_counts; /**< output, int64 [batch, heads, samples] */
  DLTensor* block_starts; /**< output, int64 [batch, heads, samples, length] */
} plsh_sampling;

/** Arguments of the four attention operations. Pointers that an operation does not use are null.
 *
 * For query i at position p_i (see plsh_causal_alignment; the alignment also holds when not causal)
 *     o_i = sum_j W_ij E_ij v_j / sum_j W_ij E_ij,  E_ij = exp(scale q_i.k_j),
 * over all keys j, or those with j <= p_i when causal. A key with W_ij = 0, or one that causality
 * hides, has no influence on row i, even if it holds NaN or infinity. W_ij = exp(-m |p_i - j|) for
 * exact ALiBi attention; the mean over the samples of [p_i and j share a block] for sampled
 * attention. A query whose position lies outside 0..n_k - 1 shares a block with no key.
 *
 * Variable lengths: with `query_starts` and `key_starts`, both int64 [sequences + 1], the batch
 * axis has length 1 and sequence b owns the queries query_starts[b] .. query_starts[b+1] - 1 and
 * the keys key_starts[b] .. key_starts[b+1] - 1, which may be none. Positions count from 0 within
 * each sequence. The first entry is 0 and the last is n_q, or n_k. The first axis of slopes and
 * partitions is then the number of sequences.
 */
typedef struct plsh_attention {
  const DLTensor* query;        /**< [batch, n_q, heads, head_dim] */
  const DLTensor* key;          /**< [batch, n_k, kv_heads, head_dim] */
  const DLTensor* value;        /**< [batch, n_k, kv_heads, value_dim] */
  double scale;                 /**< multiplies q.k, before the bias is added; finite, > 0 */
  int32_t causal;               /**< 0 or 1 */
  int32_t threads;              /**< as in plsh_sampling */
  const DLTensor* slopes;       /**< exact attention: f32 [batch, heads], m >= 0 per position */
  const DLTensor* block_counts; /**< sampled attention: int64 [batch, heads, samples] */
  const DLTensor* block_starts; /**< sampled attention: int64 [batch, heads, samples, capacity]; the
                                     partitions of 0..n_k - 1 */
  const DLTensor* query_starts; /**< int64 [sequences + 1], or null */
  const DLTensor* key_starts;   /**< int64 [sequences + 1], null exactly when query_starts is */

  /** Outputs of forward, inputs of backward (there they are this implementation's own). */
  DLTensor* output;      /**< [batch, n_q, heads, value_dim], the type of value */
  DLTensor* log_sum_exp; /**< [batch, heads, n_q], f64 for f64 inputs, else f32. May be null in
                              forward: then it is not wanted. Never null in backward. */

  /** Backward only. */
  const DLTensor* output_gradient; /**< [batch, n_q, heads, value_dim] */
  DLTensor* query_gradient;        /**< output, shape and type of query */
  DLTensor* key_gradient;          /**< output, shape and type of key: summed over the group */
  DLTensor* value_gradient;        /**< output, shape and type of value: summed over the group */

  void* workspace; /**< `workspace_bytes` bytes filled with 0xFF, aligned to 256; null if 0 */
  size_t workspace_bytes; /**< what `workspace_size` asked for */
  void* stream;           /**< device implementations: the stream to work on; null: the default */
} plsh_attention;

/** Names an attention operation for `workspace_size`. */
enum plsh_attention_operation {
  PLSH_EXACT_FORWARD = 0,
  PLSH_EXACT_BACKWARD = 1,
  PLSH_SAMPLED_FORWARD = 2,
  PLSH_SAMPLED_BACKWARD = 3
};

/** The memory of an implementation that does not work on the CPU. Each returns a plsh_status. */
typedef struct plsh_memory {
  int (*allocate)(size_t bytes, void** data); /**< aligned to 256 */
  int (*release)(void* data);
  int (*to_device)(void* device, const void* host, size_t bytes);
  int (*to_host)(void* host, const void* device, size_t bytes);
} plsh_memory;

/** The table. */
typedef struct plsh_implementation {
  uint32_t interface_version; /**< PLSH_INTERFACE_VERSION */
  uint32_t struct_size;       /**< sizeof(plsh_implementation) */
  const char* name;           /**< UTF-8, not empty */
  const char* version;        /**< UTF-8, any text */
  plsh_conventions conventions;
  DLDevice device;           /**< where tensors live; kDLCPU unless `memory` is set */
  const plsh_memory* memory; /**< null for the CPU */

  /** The reason of the last failure or refusal; may be null. Valid until the next call. */
  const char* (*error_message)(void);

  /** slopes: f32 [heads], output, heads >= 1. */
  int (*slopes)(DLTensor* slopes);

  /** Bins of given positions. positions: int64 [n], ascending, 0 <= position <= 10^9. widths,
   *  shifts: f64 [samples], or f32 when bin_precision is PLSH_BINS_F32; w > 0, 0 <= u <= w.
   *  bins: int64 [samples, n], output. Any labels will do, if equal labels mean equal bins; what is
   *  compared is which positions share a bin. */
  int (*bins)(const DLTensor* positions, const DLTensor* widths, const DLTensor* shifts,
              DLTensor* bins);

  /** Random partitions with the law of w ~ Gamma(2, sigma), u uniform on [0, w): a pure function of
   *  (seed, first_sample, sigma, length). Heads are independent; so are the items of a batch, or
   *  they are the same, as declared. */
  int (*sample_partitions)(const plsh_sampling* arguments);

  /** M~, the mean of the masks. mask: f32 or f64 [batch, heads, length, length], output. */
  int (*mean_mask)(const DLTensor* block_counts, const DLTensor* block_starts, DLTensor* mask);

  /** The bytes of workspace that an attention operation wants for these arguments (their data
   *  pointers may be null); may be null: none. */
  size_t (*workspace_size)(int operation, const plsh_attention* arguments);

  int (*exact_forward)(const plsh_attention* arguments);
  int (*exact_backward)(const plsh_attention* arguments);
  int (*sampled_forward)(const plsh_attention* arguments);
  int (*sampled_backward)(const plsh_attention* arguments);
} plsh_implementation;

/** The one symbol that an implementation must export. Null: it cannot work here; a library may then
 *  tell why by exporting plsh_implementation_error as well. */
const plsh_implementation* plsh_implementation_v1(void);
const char* plsh_implementation_error(void);
typedef const plsh_implementation* (*plsh_implementation_function)(void);

#ifdef __cplusplus
}
#endif

#endif
