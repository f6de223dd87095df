#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

// By antidiagonals, whose cells need none of each other. Cell i of a diagonal is in row i - 1: cell 0
// is the row above the first, and t is reversed, so that vectors of cells read vectors of letters.
void levenshtein(int64_t n, const int64_t *s, const int64_t *t, const int64_t *row0, int64_t zero,
                 int64_t *row) {
    int32_t *memory = malloc((5 * n + 6) * sizeof *memory);
    int32_t *before = memory, *last = before + n + 2, *now = last + n + 2, *a = now + n + 2;
    int32_t *b = a + n;
    for (int64_t i = 0; i < n; i++) a[i] = s[i];
    for (int64_t i = 0; i < n; i++) b[n - 1 - i] = t[i];
    for (int64_t d = 0; d < 2 * n - 1; d++) {
        int64_t first = d < n ? 0 : d - n + 1, end = d < n ? d + 1 : n;
        if (d < n) {
            last[0] = row0[d];
            last[d + 1] = d + 1;
            before[0] = d ? row0[d - 1] : zero;
            before[d] = zero + d;
        }
        const int32_t *restrict up = last, *restrict corner = before;
        const int32_t *restrict c = b + n - 1 - d;
        int32_t *restrict cell = now;
#pragma omp simd
        for (int64_t i = first; i < end; i++)
            cell[i + 1] = least(least(up[i], up[i + 1]) + 1, corner[i] + (a[i] != c[i]));
        if (d >= n - 1) row[d - n + 1] = cell[n];
        now = before;
        before = last;
        last = cell;
    }
    free(memory);
}
