#include <stdint.h>
#include <string.h>

void table_rows(int64_t n, const int64_t *places, const float *x, const float *table0, float by,
                float *table) {
    memcpy(table, table0, 4096 * 64 * sizeof *table);
    for (int64_t t = 0; t < n; t++) {
        float *restrict row = table + places[t] * 64;
        for (int j = 0; j < 64; j++) row[j] = row[j] * by + x[t * 64 + j];
    }
}
