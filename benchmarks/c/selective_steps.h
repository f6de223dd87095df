// The selective scan with 16 states a channel, for a multiple of 16 channels. The state is kept where
// lines of the cache begin; sums across states are made of 16 channels side by side.
#ifndef SELECTIVE_STEPS_H
#define SELECTIVE_STEPS_H

#include <stdlib.h>

#include "vector_math.h"

static void selective_steps(int64_t n, int64_t channels, const float *x, const float *dt,
                            const float *B, const float *C, const float *A, const float *h0,
                            float *hn, float *ys) {
    size_t size = channels * 16 * sizeof(float);
    float *h = aligned_alloc(64, size), *rates = aligned_alloc(64, size);
    memcpy(h, h0, size);
    memcpy(rates, A, size);
    for (int64_t t = 0; t < n; t++) {
        const float *restrict b = B + t * 16, *restrict c = C + t * 16;
        for (int64_t k = 0; k < channels; k += 16) {
            float part[16][16] __attribute__((aligned(64))), sum[16] = {0};
            for (int r = 0; r < 16; r++) {
                float d = dt[t * channels + k + r], dx = d * x[t * channels + k + r];
                float *restrict state = h + (k + r) * 16;
                const float *restrict a = rates + (k + r) * 16;
#pragma omp simd aligned(state, a : 64)
                for (int j = 0; j < 16; j++) {
                    float next = fast_exp(d * a[j]) * state[j] + dx * b[j];
                    state[j] = next;
                    part[r][j] = next * c[j];
                }
            }
            for (int j = 0; j < 16; j++)
                for (int r = 0; r < 16; r++) sum[r] += part[r][j];
            memcpy(ys + t * channels + k, sum, sizeof sum);
        }
    }
    memcpy(hn, h, size);
    free(rates);
    free(h);
}

#endif
