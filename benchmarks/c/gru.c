#include <stdlib.h>

#include "vector_math.h"

void gru(int64_t n, int64_t batch, int64_t size, const float *x, const float *W, const float *R,
         const float *U, const float *B, const float *h0, float *h, float *ys) {
    int64_t wide = 3 * size, rows = n * batch;
    float *fed = malloc(rows * wide * sizeof *fed);
    float *gates = malloc(batch * 2 * size * sizeof *gates);
    float *inner = malloc(batch * size * sizeof *inner);
    float *reset = malloc(batch * size * sizeof *reset);
    float *gate_panels = packed(size, 2 * size, R), *inner_panels = packed(size, size, U);
    fill_rows(rows, wide, B, fed);
    add_product(rows, size, wide, x, W, fed);
    memcpy(h, h0, batch * size * sizeof *h);
    for (int64_t t = 0; t < n; t++) {
        const float *step = fed + t * batch * wide;
        for (int64_t b = 0; b < batch; b++) {
            memcpy(gates + b * 2 * size, step + b * wide, 2 * size * sizeof *gates);
            memcpy(inner + b * size, step + b * wide + 2 * size, size * sizeof *inner);
        }
        add_packed(batch, size, 2 * size, h, gate_panels, gates);
        for (int64_t b = 0; b < batch; b++)
#pragma omp simd
            for (int64_t j = 0; j < size; j++)
                reset[b * size + j] = sigmoid(gates[b * 2 * size + size + j]) * h[b * size + j];
        add_packed(batch, size, size, reset, inner_panels, inner);
        for (int64_t b = 0; b < batch; b++)
#pragma omp simd
            for (int64_t j = 0; j < size; j++) {
                float z = sigmoid(gates[b * 2 * size + j]), old = h[b * size + j];
                float next = (1.0f - z) * fast_tanh(inner[b * size + j]) + z * old;
                h[b * size + j] = ys[(t * batch + b) * size + j] = next;
            }
    }
    free(fed);
    free(gates);
    free(inner);
    free(reset);
    free(gate_panels);
    free(inner_panels);
}
