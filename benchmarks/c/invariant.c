#include "vector_math.h"

void invariant(int64_t n, const float *W, const float *x0, float eight, float *x) {
    float matrix[64 * 64];
    for (int i = 0; i < 64; i++) {
        float total = 0.0f, most = -INFINITY;
        for (int j = 0; j < 64; j++) {
            float sum = 0.0f;
            for (int k = 0; k < 64; k++) sum += W[i * 64 + k] * W[j * 64 + k];
            matrix[i * 64 + j] = sum / eight;
            most = sum / eight > most ? sum / eight : most;
        }
        for (int j = 0; j < 64; j++) total += matrix[i * 64 + j] = fast_exp(matrix[i * 64 + j] - most);
        for (int j = 0; j < 64; j++) matrix[i * 64 + j] /= total;
    }
    memcpy(x, x0, 64 * sizeof *x);
    for (int64_t t = 0; t < n; t++) {
        float next[64];
        memcpy(next, x0, sizeof next);
        add_product(1, 64, 64, x, matrix, next);
#pragma omp simd
        for (int j = 0; j < 64; j++) x[j] = fast_tanh(next[j]);
    }
}
