// The selective scan with 16 states a channel, for a multiple of 16 channels. The state of 16 channels
// is kept transposed, channels side by side, so that sums across states are sums of vectors.
#ifndef SELECTIVE_STEPS_H
#define SELECTIVE_STEPS_H

#include <stdlib.h>

#include "vector_math.h"

static void selective_steps(int64_t n, int64_t channels, const float *x, const float *dt,
                            const float *B, const float *C, const float *A, const float *h0,
                            float *hn, float *ys) {
    size_t size = channels * 16 * sizeof(float);
    float *h = aligned_alloc(64, size), *rates = aligned_alloc(64, size);
    for (int64_t k = 0; k < channels; k++)
        for (int64_t j = 0; j < 16; j++) {
            h[k / 16 * 256 + j * 16 + k % 16] = h0[k * 16 + j];
            rates[k / 16 * 256 + j * 16 + k % 16] = A[k * 16 + j];
        }
    for (int64_t t = 0; t < n; t++) {
        const float *restrict b = B + t * 16, *restrict c = C + t * 16;
        for (int64_t k = 0; k < channels; k += 16) {
            const float *restrict d = dt + t * channels + k, *restrict in = x + t * channels + k;
            float *restrict y = ys + t * channels + k, *restrict state = h + k * 16;
            const float *restrict a = rates + k * 16;
            float sum[16] = {0}, dx[16];
            for (int r = 0; r < 16; r++) dx[r] = d[r] * in[r];
            for (int j = 0; j < 16; j++)
#pragma omp simd
                for (int r = 0; r < 16; r++) {
                    float next = fast_exp(d[r] * a[j * 16 + r]) * state[j * 16 + r] + dx[r] * b[j];
                    state[j * 16 + r] = next;
                    sum[r] += next * c[j];
                }
            memcpy(y, sum, sizeof sum);
        }
    }
    for (int64_t k = 0; k < channels; k++)
        for (int64_t j = 0; j < 16; j++) hn[k * 16 + j] = h[k / 16 * 256 + j * 16 + k % 16];
    free(rates);
    free(h);
}

#endif
