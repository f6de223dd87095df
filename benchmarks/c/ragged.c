#include <string.h>
#include "vector_math.h"

void ragged(int64_t n, const float *x0, float by, float *all, int64_t *longest) {
    float x[16];
    int64_t most = 0;
    memcpy(x, x0, sizeof x);
    for (int64_t t = 0; t < n; t++) {
        int64_t count = t % 16 + 1;
#pragma omp simd
        for (int j = 0; j < 16; j++) x[j] = fast_cos(x[j] * by);
        for (int64_t j = 0; j < count; j++) all[j] = x[j];
        all += count;
        if (count > most) most = count;
    }
    *longest = most;
}
