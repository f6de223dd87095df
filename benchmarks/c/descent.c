#include <stdint.h>

void descent(const double A[4][4], const double *b, const double *x0, double rate, double near,
             double *found) {
    double x[4] = {x0[0], x0[1], x0[2], x0[3]}, length;
    do {
        double gradient[4];
        length = 0.0;
        for (int i = 0; i < 4; i++) {
            gradient[i] = -b[i];
            for (int j = 0; j < 4; j++) gradient[i] += A[i][j] * x[j];
            length += gradient[i] * gradient[i];
        }
        for (int i = 0; i < 4; i++) x[i] -= rate * gradient[i];
    } while (length > near);
    for (int i = 0; i < 4; i++) found[i] = x[i];
}
