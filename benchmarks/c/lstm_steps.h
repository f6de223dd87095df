// One LSTM over all steps: the inputs' product once, then the state's step by step.
#ifndef LSTM_STEPS_H
#define LSTM_STEPS_H

#include <stdlib.h>

#include "vector_math.h"

// ys rows are `stride` floats apart; h and c hold the first state and are left with the last.
static void lstm_steps(int64_t n, int64_t batch, int64_t size, int reverse, int64_t stride,
                       const float *x, const float *W, const float *R, const float *B, float *h,
                       float *c, float *ys) {
    int64_t wide = 4 * size;
    float *fed = malloc(n * batch * wide * sizeof *fed), *panels = packed(size, wide, R);
    fill_rows(n * batch, wide, B, fed);
    add_product(n * batch, size, wide, x, W, fed);
    for (int64_t s = 0; s < n; s++) {
        int64_t t = reverse ? n - 1 - s : s;
        float *gates = fed + t * batch * wide;
        add_packed(batch, size, wide, h, panels, gates);
        for (int64_t b = 0; b < batch; b++) {
            const float *restrict g = gates + b * wide;
            float *restrict hb = h + b * size, *restrict cb = c + b * size;
            float *restrict y = ys + (t * batch + b) * stride;
#pragma omp simd
            for (int64_t j = 0; j < size; j++) {
                float cell = sigmoid(g[2 * size + j]) * cb[j] + sigmoid(g[j]) * fast_tanh(g[3 * size + j]);
                cb[j] = cell;
                hb[j] = y[j] = sigmoid(g[size + j]) * fast_tanh(cell);
            }
        }
    }
    free(fed);
    free(panels);
}

#endif
