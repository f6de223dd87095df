#include "vector_math.h"

void rows(int64_t n, const float *x, float by, float *all) {
    for (int64_t t = 0; t < n; t++) {
        float *restrict row = all + t * 64;
#pragma omp simd
        for (int j = 0; j < 64; j++) row[j] = fast_cos(x[j] * by);
        x = row;
    }
}
