#include <stdint.h>
#include <string.h>

void histogram(int64_t n, const int64_t *places, const int64_t *counts0, int64_t *counts) {
    memcpy(counts, counts0, 1024 * sizeof *counts);
    for (int64_t t = 0; t < n; t++) counts[places[t]]++;
}
