#include <stdint.h>

void savings(int64_t n, double x, double rate, double fee, double floor, double most,
             double *balance) {
    for (int64_t i = 0; i < n; i++) {
        double next = x > floor ? x * rate : x - fee;
        next = next < most ? next : most;
        x = next > fee ? next : fee;
    }
    *balance = x;
}
