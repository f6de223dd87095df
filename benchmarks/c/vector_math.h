// exp, tanh and sigmoid of floats that a compiler can vectorise, and products of matrices.
// exp is within 2 ULP from -87 to 88; tanh and sigmoid within 2e-7.
#ifndef VECTOR_MATH_H
#define VECTOR_MATH_H

#ifdef __AVX512F__
#include <immintrin.h>
#endif
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline float fast_exp(float x) {
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    float shifted = x * 1.44269504f + 12582912.0f; // the whole number is in its last bits
    float whole = shifted - 12582912.0f;
    float r = x - whole * 0.693359375f + whole * 2.12194440e-4f;
    float p = 1.3814611e-3f;
    p = p * r + 8.3687172e-3f;
    p = p * r + 4.1668388e-2f;
    p = p * r + 1.6666521e-1f;
    p = p * r + 0.49999993f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + (127 << 23);
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

static inline float sigmoid(float x) { return 1.0f / (1.0f + fast_exp(-x)); }

static inline float fast_tanh(float x) { return 1.0f - 2.0f / (1.0f + fast_exp(2.0f * x)); }

// Within 2e-7 where |x| is below 1,000.
static inline float fast_cos(float x) {
    float half_turns = rintf(x * 0.318309886f);
    float r = x - half_turns * 3.140625f - half_turns * 9.67653589e-4f, s = r * r;
    float p = -2.7557319e-7f;
    p = p * s + 2.4801587e-5f;
    p = p * s - 1.3888889e-3f;
    p = p * s + 4.1666667e-2f;
    p = p * s - 0.5f;
    p = p * s + 1.0f;
    return (int32_t)half_turns & 1 ? -p : p;
}

// The machine's widest vectors: gcc keeps wider ones in memory.
#ifdef __AVX512F__
#define LANES 16
#define BLOCKED 64 // columns of four rows: 16 of 32 registers
#else
#define LANES 8
#define BLOCKED 16 // columns of four rows: 8 of 16 registers
#endif

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t places __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

// The greater of each two numbers, and where it is; the earlier one of equal ones.
static inline void take_greater(lanes *best, places *place, lanes found, int32_t at) {
#ifdef __AVX512F__
    __mmask16 is_greater = _mm512_cmp_ps_mask((__m512)found, (__m512)*best, _CMP_GT_OQ);
    *best = (lanes)_mm512_max_ps((__m512)found, (__m512)*best);
    *place = (places)_mm512_mask_set1_epi32((__m512i)*place, is_greater, at);
#else
    places is_greater = found > *best;
    *best = (lanes)((is_greater & (places)found) | (~is_greater & (places)*best));
    *place = (is_greater & at) | (~is_greater & *place);
#endif
}

// ROWS rows and WIDE vectors of columns of c += a b, kept in registers; RIGHT(t, j) are the columns
// of vector j in row t of b.
#define BLOCK(ROWS, WIDE, RIGHT)                                                              \
    do {                                                                                      \
        lanes sum[ROWS][WIDE];                                                                \
        for (int i = 0; i < ROWS; i++)                                                        \
            for (int j = 0; j < WIDE; j++) sum[i][j] = *(lanes *)&c[(row + i) * n + col + LANES * j]; \
        for (int64_t t = 0; t < k; t++)                                                       \
            for (int j = 0; j < WIDE; j++) {                                                  \
                lanes right = *(const lanes *)&b[RIGHT(t, j)];                                \
                for (int i = 0; i < ROWS; i++) sum[i][j] += a[(row + i) * k + t] * right;     \
            }                                                                                 \
        for (int i = 0; i < ROWS; i++)                                                        \
            for (int j = 0; j < WIDE; j++) *(lanes *)&c[(row + i) * n + col + LANES * j] = sum[i][j]; \
    } while (0)

#define BLOCKS(RIGHT)                                                                         \
    do {                                                                                      \
        int64_t row = 0;                                                                      \
        for (; row + 4 <= m; row += 4) {                                                      \
            int64_t col = 0;                                                                  \
            for (; col + BLOCKED <= n; col += BLOCKED) BLOCK(4, BLOCKED / LANES, RIGHT);      \
            for (; col < n; col += LANES) BLOCK(4, 1, RIGHT);                                 \
        }                                                                                     \
        for (; row < m; row++) {                                                              \
            int64_t col = 0;                                                                  \
            for (; col + 8 * LANES <= n; col += 8 * LANES) BLOCK(1, 8, RIGHT);                \
            for (; col + 4 * LANES <= n; col += 4 * LANES) BLOCK(1, 4, RIGHT);                \
            for (; col < n; col += LANES) BLOCK(1, 1, RIGHT);                                 \
        }                                                                                     \
    } while (0)

// c[m, n] += a[m, k] b[k, n], all in rows; n is a multiple of 16.
static inline void add_product(int64_t m, int64_t k, int64_t n, const float *a, const float *b,
                               float *c) {
#define IN_ROWS(t, j) (t) * n + col + LANES * (j)
    BLOCKS(IN_ROWS);
#undef IN_ROWS
}

// b[k, n] in panels of 16 columns, whose rows follow each other; to be freed.
static inline float *packed(int64_t k, int64_t n, const float *b) {
    float *panels = aligned_alloc(64, k * n * sizeof *panels);
    for (int64_t t = 0; t < k; t++)
        for (int64_t col = 0; col < n; col++) panels[(col / 16 * k + t) * 16 + col % 16] = b[t * n + col];
    return panels;
}

// The same product with b in panels.
static inline void add_packed(int64_t m, int64_t k, int64_t n, const float *a, const float *b,
                              float *c) {
#define IN_PANELS(t, j) ((col + LANES * (j)) / 16 * k + (t)) * 16 + (col + LANES * (j)) % 16
    BLOCKS(IN_PANELS);
#undef IN_PANELS
}

// Every row of c becomes bias.
static inline void fill_rows(int64_t m, int64_t n, const float *bias, float *c) {
    for (int64_t i = 0; i < m; i++) memcpy(&c[i * n], bias, n * sizeof *c);
}

#endif
