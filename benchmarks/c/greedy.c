#include "vector_math.h"

void greedy(int64_t n, int64_t token, const float *E, const float *R, const float *V,
            const float *h0, int64_t *tokens, float *h) {
    memcpy(h, h0, 64 * sizeof *h);
    for (int64_t t = 0; t < n; t++) {
        float next[64], logits[256] = {0};
        if (token < 16) {
            for (int j = 0; j < 64; j++) h[j] *= 0.5f;
        } else {
            memcpy(next, E + token * 64, sizeof next);
            add_product(1, 64, 64, h, R, next);
#pragma omp simd
            for (int j = 0; j < 64; j++) h[j] = fast_tanh(next[j]);
        }
        add_product(1, 64, 256, h, V, logits);
        float most = logits[0];
        for (int j = 1; j < 256; j++) most = logits[j] > most ? logits[j] : most;
        for (token = 0; logits[token] != most;) token++;
        tokens[t] = token;
    }
}
