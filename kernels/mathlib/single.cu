// The CUDA math library in single precision as the compiler inlines it, full accuracy. One kernel per
// error bound that the CUDA programming guide states (in units in the last place against the
// correctly rounded result): row k of `out` is function k of the elements of `x` (and `y`).
#define ROW(expression) out[row++ * n + i] = (expression)

#define KERNEL(name)                                                                               \
    __device__ __forceinline__ void name##_rows(float x, float y, float *out, int n, int i);       \
    extern "C" __global__ void name(const float *xs, const float *ys, float *out, int n) {         \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n) {                                                                               \
            name##_rows(xs[i], ys[i], out, n, i);                                                  \
        }                                                                                          \
    }                                                                                              \
    __device__ __forceinline__ void name##_rows(float x, float y, float *out, int n, int i)

KERNEL(single_exact) {
    int row = 0;
    ROW(x / y);
    ROW(1.0f / x);
    ROW(sqrtf(fabsf(x)));
    ROW(fmaf(x, y, -1.0f));
    ROW(fmodf(x, y));
    ROW(remainderf(x, y));
    ROW(rintf(x));
    ROW(roundf(x));
}

KERNEL(single_1_ulp) {
    int row = 0;
    ROW(cbrtf(x));
    ROW(rcbrtf(x));
    ROW(logf(x));
    ROW(log2f(x));
    ROW(log1pf(x));
    ROW(expm1f(x));
    ROW(sinpif(x));
    ROW(cospif(x));
}

KERNEL(single_2_ulps) {
    int row = 0;
    ROW(sinf(x));
    ROW(cosf(x));
    ROW(expf(x));
    ROW(exp2f(x));
    ROW(exp10f(x));
    ROW(log10f(x));
    ROW(rsqrtf(x));
    ROW(tanhf(x));
    ROW(erff(x));
    ROW(asinf(x));
    ROW(acosf(x));
    ROW(atanf(x));
    ROW(coshf(x));
    ROW(erfinvf(x));
    ROW(rhypotf(x, y));
}

KERNEL(single_3_ulps) {
    int row = 0;
    ROW(hypotf(x, y));
    ROW(atan2f(x, y));
    ROW(sinhf(x));
    ROW(asinhf(x));
    ROW(atanhf(x));
}

KERNEL(single_4_ulps) {
    int row = 0;
    ROW(tanf(x));
    ROW(powf(fabsf(x), y));
    ROW(acoshf(x));
    ROW(erfcf(x));
    ROW(erfcinvf(x));
    ROW(erfcxf(x));
}

KERNEL(single_5_ulps) {
    int row = 0;
    ROW(tgammaf(x));
    ROW(normcdff(x));
    ROW(normcdfinvf(x));
}

KERNEL(single_6_ulps) {
    int row = 0;
    ROW(lgammaf(x));
    ROW(cyl_bessel_i0f(x));
    ROW(cyl_bessel_i1f(x));
}

KERNEL(single_9_ulps) {
    int row = 0;
    ROW(j0f(x));
    ROW(j1f(x));
    ROW(y0f(x));
    ROW(y1f(x));
}
