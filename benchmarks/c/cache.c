#include <stdlib.h>

#include "vector_math.h"

// The matrices are side by side, and the keys of LANES positions too, so that scores are sums of
// vectors.
void cache(int64_t n, const float *x0, const float *none, const float *Q, const float *K,
           const float *V, float scale, float *x, float *ys) {
    int64_t blocks = (n + LANES - 1) / LANES;
    float *keys = aligned_alloc(64, (blocks + 1) * 64 * LANES * sizeof *keys);
    float *values = aligned_alloc(64, (n + 1) * 64 * sizeof *values);
    float *weights = aligned_alloc(64, (blocks + 1) * LANES * sizeof *weights);
    float *joined = aligned_alloc(64, 64 * 192 * sizeof *joined);
    for (int i = 0; i < 64; i++) {
        memcpy(joined + i * 192, Q + i * 64, 64 * sizeof *Q);
        memcpy(joined + i * 192 + 64, K + i * 64, 64 * sizeof *K);
        memcpy(joined + i * 192 + 128, V + i * 64, 64 * sizeof *V);
    }
    memset(keys, 0, blocks * 64 * LANES * sizeof *keys);
    memcpy(x, x0, 64 * sizeof *x);
    for (int64_t t = 0; t < n; t++) {
        float made[192] = {0}, read[64] = {0}, most = -INFINITY, total = 0.0f;
        add_product(1, 64, 192, x, joined, made);
        for (int j = 0; j < 64; j++)
            keys[t / LANES * 64 * LANES + j * LANES + t % LANES] = made[64 + j];
        memcpy(values + t * 64, made + 128, 64 * sizeof *values);
        for (int64_t block = 0; block <= t / LANES; block++) {
            const float *own = keys + block * 64 * LANES;
            lanes sums[4] = {0};
            for (int j = 0; j < 64; j += 4)
                for (int k = 0; k < 4; k++)
                    sums[k] += *(const lanes *)(own + (j + k) * LANES) * made[j + k];
            *(lanes *)(weights + block * LANES) =
                ((sums[0] + sums[1]) + (sums[2] + sums[3])) * scale;
        }
#pragma omp simd reduction(max : most)
        for (int64_t p = 0; p <= t; p++) most = weights[p] > most ? weights[p] : most;
#pragma omp simd reduction(+ : total)
        for (int64_t p = 0; p <= t; p++) total += weights[p] = fast_exp(weights[p] - most);
        add_product(1, t + 1, 64, weights, values, read);
#pragma omp simd
        for (int j = 0; j < 64; j++) ys[t * 64 + j] = x[j] = fast_tanh(x[j] + read[j] / total);
    }
    free(keys);
    free(values);
    free(weights);
    free(joined);
}
