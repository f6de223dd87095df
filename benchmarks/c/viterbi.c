#include "vector_math.h"

// The maxima and their places stay in registers while all sources of some targets are read.
enum { STATES = 64, WIDE = 4 };

void viterbi(int64_t n, const float *emitted, const float *moves, const float *start,
             float *scores, int64_t *sources) {
    float v[STATES], after[STATES];
    memcpy(v, start, sizeof v);
    for (int64_t t = 0; t < n; t++) {
        for (int j = 0; j < STATES; j += WIDE * LANES) {
            lanes best[WIDE];
            places source[WIDE] = {0};
            for (int w = 0; w < WIDE; w++)
                best[w] = *(const lanes *)(moves + j + w * LANES) + v[0];
            for (int i = 1; i < STATES; i++)
                for (int w = 0; w < WIDE; w++) {
                    lanes path = *(const lanes *)(moves + i * STATES + j + w * LANES) + v[i];
                    take_greater(&best[w], &source[w], path, i);
                }
            for (int w = 0; w < WIDE; w++) {
                int at = j + w * LANES;
                *(lanes *)(after + at) = best[w] + *(const lanes *)(emitted + t * STATES + at);
                for (int k = 0; k < LANES; k++) sources[t * STATES + at + k] = source[w][k];
            }
        }
        memcpy(v, after, sizeof v);
    }
    memcpy(scores, v, sizeof v);
}
