// The CUDA math library in double precision as the compiler inlines it. One kernel per error bound
// that the CUDA programming guide states (in units in the last place against the correctly rounded
// result): row k of `out` is function k of the elements of `x` (and `y`).
#define ROW(expression) out[row++ * n + i] = (expression)

#define KERNEL(name)                                                                               \
    __device__ __forceinline__ void name##_rows(double x, double y, double *out, int n, int i);    \
    extern "C" __global__ void name(const double *xs, const double *ys, double *out, int n) {      \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n) {                                                                               \
            name##_rows(xs[i], ys[i], out, n, i);                                                  \
        }                                                                                          \
    }                                                                                              \
    __device__ __forceinline__ void name##_rows(double x, double y, double *out, int n, int i)

KERNEL(double_exact) {
    int row = 0;
    ROW(x / y);
    ROW(1.0 / x);
    ROW(sqrt(fabs(x)));
    ROW(fma(x, y, -1.0));
    ROW(fmod(x, y));
    ROW(remainder(x, y));
    ROW(rint(x));
    ROW(round(x));
}

KERNEL(double_1_ulp) {
    int row = 0;
    ROW(exp(x));
    ROW(exp2(x));
    ROW(exp10(x));
    ROW(expm1(x));
    ROW(log(x));
    ROW(log2(x));
    ROW(log10(x));
    ROW(log1p(x));
    ROW(rsqrt(x));
    ROW(cbrt(x));
    ROW(rcbrt(x));
    ROW(cosh(x));
    ROW(tanh(x));
    ROW(rhypot(x, y));
}

KERNEL(double_2_ulps) {
    int row = 0;
    ROW(sin(x));
    ROW(cos(x));
    ROW(tan(x));
    ROW(sinpi(x));
    ROW(cospi(x));
    ROW(pow(fabs(x), y));
    ROW(hypot(x, y));
    ROW(asin(x));
    ROW(acos(x));
    ROW(atan(x));
    ROW(atan2(x, y));
    ROW(sinh(x));
    ROW(atanh(x));
    ROW(erf(x));
}

KERNEL(double_3_ulps) {
    int row = 0;
    ROW(asinh(x));
    ROW(acosh(x));
}

KERNEL(double_4_ulps) {
    int row = 0;
    ROW(lgamma(x));
    ROW(erfcx(x));
}

KERNEL(double_5_ulps) {
    int row = 0;
    ROW(erfc(x));
    ROW(erfinv(x));
    ROW(normcdf(x));
}

KERNEL(double_6_ulps) {
    int row = 0;
    ROW(erfcinv(x));
    ROW(cyl_bessel_i0(x));
    ROW(cyl_bessel_i1(x));
}

KERNEL(double_7_ulps) {
    int row = 0;
    ROW(j0(x));
    ROW(j1(x));
    ROW(y0(x));
    ROW(y1(x));
}

KERNEL(double_8_ulps) {
    int row = 0;
    ROW(normcdfinv(x));
}

KERNEL(double_10_ulps) {
    int row = 0;
    ROW(tgamma(x));
}
