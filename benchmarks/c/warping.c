#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static inline float least(float a, float b) { return a < b ? a : b; }

// By antidiagonals, as levenshtein.c.
void warping(int64_t n, const float *s, const float *t, const float *row0, float far, float zero,
             float *row) {
    float *memory = malloc((4 * n + 6) * sizeof *memory);
    float *before = memory, *last = before + n + 2, *now = last + n + 2, *b = now + n + 2;
    for (int64_t i = 0; i < n; i++) b[n - 1 - i] = t[i];
    for (int64_t d = 0; d < 2 * n - 1; d++) {
        int64_t first = d < n ? 0 : d - n + 1, end = d < n ? d + 1 : n;
        if (d < n) {
            last[0] = row0[d];
            last[d + 1] = far;
            before[0] = d ? row0[d - 1] : zero;
            if (d) before[d] = far;
        }
        const float *restrict up = last, *restrict corner = before, *restrict c = b + n - 1 - d;
        float *restrict cell = now;
#pragma omp simd
        for (int64_t i = first; i < end; i++)
            cell[i + 1] = fabsf(s[i] - c[i]) + least(least(up[i], up[i + 1]), corner[i]);
        if (d >= n - 1) row[d - n + 1] = cell[n];
        now = before;
        before = last;
        last = cell;
    }
    free(memory);
}
