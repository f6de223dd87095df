#include <stdint.h>
#include <string.h>

// Point after point, sixteen to sixty-four in registers, each for all its steps.
#define POINTS 64

void mandelbrot(int64_t size, int64_t n, const float *cr, const float *ci, const float *zero,
                float *counts) {
    for (int64_t at = 0; at < size; at += POINTS) {
        float r[POINTS], i[POINTS], m[POINTS];
        memcpy(r, zero + at, sizeof r);
        memcpy(i, zero + at, sizeof i);
        memcpy(m, zero + at, sizeof m);
        for (int64_t k = 0; k < n; k++)
#pragma omp simd
            for (int p = 0; p < POINTS; p++) {
                float rr = r[p] * r[p], ii = i[p] * i[p];
                int inside = rr + ii <= 4.0f;
                float in = 2.0f * (r[p] * i[p]) + ci[at + p];
                float rn = rr - ii + cr[at + p];
                r[p] = inside ? rn : r[p];
                i[p] = inside ? in : i[p];
                m[p] += inside ? 1.0f : 0.0f;
            }
        memcpy(counts + at, m, sizeof m);
    }
}
