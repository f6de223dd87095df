#include <stdint.h>
#include <stdlib.h>

static inline float most_of(float a, float b) { return a > b ? a : b; }
static inline float least_of(float a, float b) { return a < b ? a : b; }

void suppression(int64_t n, const float *boxes, const float *areas, const int64_t *order,
                 float most, const uint8_t *all, uint8_t *restrict kept) {
    float *restrict sides = malloc(4 * n * sizeof *sides);
    const float *left = sides, *top = sides + n, *right = sides + 2 * n, *bottom = sides + 3 * n;
    for (int64_t j = 0; j < n; j++) {
        kept[j] = all[j];
        for (int k = 0; k < 4; k++) sides[k * n + j] = boxes[4 * j + k];
    }
    for (int64_t i = 0; i < n; i++) {
        if (!kept[i]) continue;
        float li = left[i], ti = top[i], ri = right[i], bi = bottom[i], ai = areas[i];
#pragma omp simd
        for (int64_t j = i + 1; j < n; j++) {
            float w = most_of(least_of(right[j], ri) - most_of(left[j], li), 0.0f);
            float h = most_of(least_of(bottom[j], bi) - most_of(top[j], ti), 0.0f);
            float shared = w * h;
            kept[j] &= !(shared > (areas[j] + ai - shared) * most);
        }
    }
    free(sides);
}
