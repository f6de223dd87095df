#include <stdint.h>
#include <string.h>

void kalman(int64_t n, const float *z, const float F[4][4], const float Q[4][4], const float *H,
            const float *R, const float *x0, const float P0[4][4], const float eye[4][4],
            float *xn, float Pn[4][4], float xs[][4]) {
    float x[4], P[4][4];
    memcpy(x, x0, sizeof x);
    memcpy(P, P0, sizeof P);
    for (int64_t t = 0; t < n; t++) {
        float xp[4] = {0}, FP[4][4] = {{0}}, Pp[4][4], PH[4], K[4], step[4][4];
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 4; k++) {
                xp[i] += F[i][k] * x[k];
                for (int j = 0; j < 4; j++) FP[i][j] += F[i][k] * P[k][j];
            }
        memcpy(Pp, Q, sizeof Pp);
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 4; k++)
                for (int j = 0; j < 4; j++) Pp[i][j] += FP[i][k] * F[j][k];
        float S = R[0], hx = 0.0f;
        for (int i = 0; i < 4; i++) {
            PH[i] = 0.0f;
            for (int k = 0; k < 4; k++) PH[i] += Pp[i][k] * H[k];
            S += H[i] * PH[i];
            hx += H[i] * xp[i];
        }
        for (int i = 0; i < 4; i++) {
            K[i] = PH[i] / S;
            x[i] = xs[t][i] = xp[i] + K[i] * (z[t] - hx);
            for (int j = 0; j < 4; j++) step[i][j] = eye[i][j] - K[i] * H[j];
        }
        memset(P, 0, sizeof P);
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 4; k++)
                for (int j = 0; j < 4; j++) P[i][j] += step[i][k] * Pp[k][j];
    }
    memcpy(xn, x, sizeof x);
    memcpy(Pn, P, sizeof P);
}
