#include "vector_math.h"

// States of 64 x 64 a head; batch 1.
void linear_attention(int64_t n, int64_t heads, int64_t width, const float *query,
                      const float *key, const float *value, const float *decay, const float *beta,
                      float *output, float *states) {
    memset(states, 0, heads * 64 * 64 * sizeof *states);
    for (int64_t t = 0; t < n; t++)
        for (int64_t head = 0; head < heads; head++) {
            int64_t at = (t * heads + head) * 64;
            float *restrict state = states + head * 64 * 64;
            float found[64] = {0}, read[64] = {0}, kept[64];
#pragma omp simd
            for (int i = 0; i < 64; i++) kept[i] = fast_exp(decay[at + i]);
            for (int i = 0; i < 64; i++)
                for (int j = 0; j < 64; j++) found[j] += key[at + i] * (kept[i] * state[i * 64 + j]);
            for (int j = 0; j < 64; j++)
                found[j] = beta[t * heads + head] * (value[at + j] - found[j]);
            for (int i = 0; i < 64; i++)
                for (int j = 0; j < 64; j++) {
                    float next = kept[i] * state[i * 64 + j] + key[at + i] * found[j];
                    state[i * 64 + j] = next;
                    read[j] += query[at + i] * next;
                }
            for (int j = 0; j < 64; j++) output[at + j] = read[j] / sqrtf((float)width);
        }
}
