#include <stdint.h>
#include <string.h>

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

void levenshtein(int64_t n, const int64_t *s, const int64_t *t, const int64_t *row0, int64_t zero,
                 int64_t *row) {
    memcpy(row, row0, n * sizeof *row);
    for (int64_t k = 0; k < n; k++) {
        int64_t left = k + 1, diagonal = zero + k;
        for (int64_t j = 0; j < n; j++) {
            int64_t above = row[j];
            int64_t change = diagonal + (s[k] != t[j]);
            row[j] = left = least(least(above + 1, change), left + 1);
            diagonal = above;
        }
    }
}
