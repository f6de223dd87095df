#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float least(float a, float b) { return a < b ? a : b; }

void warping(int64_t n, const float *s, const float *t, const float *row0, float far, float zero,
             float *row) {
    float diagonal = zero;
    memcpy(row, row0, n * sizeof *row);
    for (int64_t k = 0; k < n; k++) {
        float left = far;
        for (int64_t j = 0; j < n; j++) {
            float above = row[j];
            row[j] = left = fabsf(s[k] - t[j]) + least(least(above, diagonal), left);
            diagonal = above;
        }
        diagonal = far;
    }
}
