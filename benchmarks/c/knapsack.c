#include <stdint.h>
#include <string.h>

void knapsack(int64_t n, const int64_t *weights, const int64_t *values, const int64_t *row0,
              int64_t *best) {
    int64_t old[1001];
    memcpy(best, row0, sizeof old);
    for (int64_t t = 0; t < n; t++) {
        int64_t w = weights[t], v = values[t];
        memcpy(old, best, sizeof old);
        for (int64_t j = w; j < 1001; j++) {
            int64_t with = old[j - w] + v;
            best[j] = with > best[j] ? with : best[j];
        }
        for (int64_t j = 0; j < w; j++) best[j] = best[j] > 0 ? best[j] : 0;
    }
}
