// Division and square roots that round correctly, on every kind of operand: subnormals, infinities
// and NaNs take the slow paths. NaN results are stored as one value.
__device__ unsigned bits(float value) {
    return value == value ? __float_as_uint(value) : 0x7fffffffu;
}

__device__ unsigned long long bits(double value) {
    return value == value ? (unsigned long long)__double_as_longlong(value) : 0x7fffffffffffffffull;
}

extern "C" __global__ void division_f32(const unsigned *a, const unsigned *b, unsigned *quotient,
                                        unsigned *root, unsigned *reciprocal, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = __uint_as_float(a[i]);
        float y = __uint_as_float(b[i]);
        quotient[i] = bits(x / y);
        root[i] = bits(sqrtf(fabsf(x)));
        reciprocal[i] = bits(1.0f / y);
    }
}

extern "C" __global__ void division_f64(const unsigned long long *a, const unsigned long long *b,
                                        unsigned long long *quotient, unsigned long long *root,
                                        unsigned long long *fused, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double x = __longlong_as_double(a[i]);
        double y = __longlong_as_double(b[i]);
        quotient[i] = bits(x / y);
        root[i] = bits(sqrt(fabs(x)));
        fused[i] = bits(fma(x, y, x < y ? x - y : x * 3.0));
    }
}

// Every rounding intrinsic: row 4 k + m is operation k in mode m (to nearest, to zero, down, up) of
// the bits of a, b and c.
#define ROUNDED(prefix, arguments)                                                                 \
    put(prefix##_rn arguments);                                                                    \
    put(prefix##_rz arguments);                                                                    \
    put(prefix##_rd arguments);                                                                    \
    put(prefix##_ru arguments)

extern "C" __global__ void rounding_f32(const unsigned *a, const unsigned *b, const unsigned *c,
                                        unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = __uint_as_float(a[i]);
        float y = __uint_as_float(b[i]);
        float z = __uint_as_float(c[i]);
        int row = 0;
        auto put = [&](float value) { out[(size_t)row++ * n + i] = bits(value); };
        ROUNDED(__fdiv, (x, y));
        ROUNDED(__fsqrt, (x));
        ROUNDED(__frcp, (y));
        ROUNDED(__fmaf, (x, y, z));
        ROUNDED(__fadd, (x, y));
        ROUNDED(__fmul, (x, y));
        put(__frsqrt_rn(x));
    }
}

extern "C" __global__ void rounding_f64(const unsigned long long *a, const unsigned long long *b,
                                        const unsigned long long *c, unsigned long long *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double x = __longlong_as_double(a[i]);
        double y = __longlong_as_double(b[i]);
        double z = __longlong_as_double(c[i]);
        int row = 0;
        auto put = [&](double value) { out[(size_t)row++ * n + i] = bits(value); };
        ROUNDED(__ddiv, (x, y));
        ROUNDED(__dsqrt, (x));
        ROUNDED(__drcp, (y));
        ROUNDED(__fma, (x, y, z));
        ROUNDED(__dadd, (x, y));
        ROUNDED(__dmul, (x, y));
    }
}
