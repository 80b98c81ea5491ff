/* A small implementation in plain C99: the slopes, and exact ALiBi attention in doubles. */
#include <math.h>
#include <plsh/interface/implementation.h>
#include <stdlib.h>

static void* at(const DLTensor* t, int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t index[] = {a, b, c, d};
  int64_t offset = 0;
  for (int axis = 0; axis < t->ndim; ++axis) offset += index[axis] * t->strides[axis];
  return (char*)t->data + offset * (t->dtype.bits / 8);
}

static double get(const DLTensor* t, int64_t a, int64_t b, int64_t c, int64_t d) {
  if (t->dtype.bits == 64) return *(const double*)at(t, a, b, c, d);
  return (double)*(const float*)at(t, a, b, c, d);
}

static void put(DLTensor* t, int64_t a, int64_t b, int64_t c, int64_t d, double value) {
  if (t->dtype.bits == 64) *(double*)at(t, a, b, c, d) = value;
  if (t->dtype.bits == 32) *(float*)at(t, a, b, c, d) = (float)value;
}

/* Query i of head h in item b. `weight` has room for every key. */
static void attend(const plsh_attention* x, int64_t b, int64_t h, int64_t i, double* weight) {
  const int64_t n_k = x->key->shape[1], p = i + n_k - x->query->shape[1];
  const int64_t group = h / (x->query->shape[2] / x->key->shape[2]);
  const int64_t seen = !x->causal ? n_k : p < 0 ? 0 : p + 1; /* it sees keys 0 .. seen - 1 */
  double largest = -INFINITY, sum = 0;
  for (int64_t j = 0; j < seen; ++j) {
    double dot = 0;
    for (int64_t d = 0; d < x->query->shape[3]; ++d)
      dot += get(x->query, b, i, h, d) * get(x->key, b, j, group, d);
    weight[j] = x->scale * dot - get(x->slopes, b, h, 0, 0) * (double)llabs(p - j);
    if (weight[j] > largest) largest = weight[j]; /* a NaN is passed over here, and kept below */
  }
  for (int64_t j = 0; j < seen; ++j) sum += weight[j] = exp(weight[j] - largest);
  for (int64_t d = 0; d < x->value->shape[3]; ++d) {
    double pooled = 0;
    for (int64_t j = 0; j < seen; ++j) pooled += weight[j] * get(x->value, b, j, group, d);
    put(x->output, b, i, h, d, seen > 0 ? pooled / sum : 0);
  } /* a row that sees no key has the output 0 and, as log(0) is, the log-sum-exp -infinity */
  if (x->log_sum_exp) put(x->log_sum_exp, b, h, i, 0, largest + log(sum));
}

static const char* error_message(void) { return "f32 and f64 only, and no variable lengths"; }

static int exact_forward(const plsh_attention* x) {
  if (x->query_starts || x->query->dtype.bits < 32) return PLSH_REFUSED;
  double* weight = malloc(sizeof(double) * (size_t)(x->key->shape[1] + 1));
  if (!weight) return PLSH_FAILED;
  for (int64_t b = 0; b < x->query->shape[0]; ++b)
    for (int64_t h = 0; h < x->query->shape[2]; ++h)
      for (int64_t i = 0; i < x->query->shape[1]; ++i) attend(x, b, h, i, weight);
  free(weight);
  return PLSH_OK;
}

static int slopes(DLTensor* t) {
  int64_t power = 1; /* the largest power of two up to the number of heads */
  while (2 * power <= t->shape[0]) power *= 2;
  for (int64_t h = 0; h < t->shape[0]; ++h)
    put(t, h, 0, 0, 0,
        exp2(-4.0 * (double)(h < power ? 2 * h + 2 : 2 * (h - power) + 1) / (double)power));
  return PLSH_OK;
}

/* Here everything is computed in doubles. A convention that is not named has its first value. */
static const plsh_implementation table = {
    .interface_version = PLSH_INTERFACE_VERSION,
    .struct_size = sizeof(plsh_implementation),
    .name = "plain C",
    .version = "1",
    .conventions = {.causal_alignment = PLSH_ALIGN_BOTTOM_RIGHT,
                    .promises = PLSH_DETERMINISTIC_FORWARD | PLSH_THREAD_INDEPENDENT,
                    .precision = {[PLSH_F32] = {1, PLSH_F64, PLSH_F64, PLSH_F64, PLSH_F64},
                                  [PLSH_F64] = {1, PLSH_F64, PLSH_F64, PLSH_F64, PLSH_F64}}},
    .device = {kDLCPU, 0},
    .error_message = error_message,
    .slopes = slopes,
    .exact_forward = exact_forward};

__attribute__((visibility("default"))) const plsh_implementation* plsh_implementation_v1(void) {
  return &table;
}
