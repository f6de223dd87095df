// The selective scan with 16 states a channel.
#ifndef SELECTIVE_STEPS_H
#define SELECTIVE_STEPS_H

#include "vector_math.h"

static void selective_steps(int64_t n, int64_t channels, const float *x, const float *dt,
                            const float *B, const float *C, const float *A, float *h, float *ys) {
    for (int64_t t = 0; t < n; t++) {
        const float *restrict b = B + t * 16, *restrict c = C + t * 16;
        for (int64_t k = 0; k < channels; k++) {
            float d = dt[t * channels + k], dx = d * x[t * channels + k], sum = 0.0f;
            float *restrict state = h + k * 16;
            const float *restrict a = A + k * 16;
#pragma omp simd reduction(+ : sum)
            for (int j = 0; j < 16; j++) {
                float next = fast_exp(d * a[j]) * state[j] + dx * b[j];
                state[j] = next;
                sum += next * c[j];
            }
            ys[t * channels + k] = sum;
        }
    }
}

#endif
