#include <stdint.h>
#include <string.h>

void viterbi(int64_t n, const float *emitted, const float *moves, const float *start,
             float *scores, int64_t *sources) {
    float v[64];
    memcpy(v, start, sizeof v);
    for (int64_t t = 0; t < n; t++) {
        float best[64];
        int32_t source[64] = {0};
        for (int j = 0; j < 64; j++) best[j] = v[0] + moves[j];
        for (int i = 1; i < 64; i++)
#pragma omp simd
            for (int j = 0; j < 64; j++) {
                float path = v[i] + moves[i * 64 + j];
                source[j] = path > best[j] ? i : source[j];
                best[j] = path > best[j] ? path : best[j];
            }
        for (int j = 0; j < 64; j++) {
            v[j] = best[j] + emitted[t * 64 + j];
            sources[t * 64 + j] = source[j];
        }
    }
    memcpy(scores, v, sizeof v);
}
