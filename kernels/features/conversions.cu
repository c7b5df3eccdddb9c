// Conversions between number types: rounding, saturation, subnormals. One result row each.
#include <cuda_fp16.h>

extern "C" __global__ void conversions(const float *reals, const unsigned *integers, unsigned *out,
                                       int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float x = reals[i];
    double wide = (double)x * 1.0625;
    unsigned u = integers[i];
    int s = (int)u;
    unsigned long long u64 = (unsigned long long)u * 0x100000001ull;
    int row = 0;
    auto put = [&](unsigned value) { out[row++ * n + i] = value; };

    put((unsigned)__float2int_rz(x));
    put((unsigned)__float2int_rn(x));
    put((unsigned)__float2int_ru(x));
    put((unsigned)__float2int_rd(x));
    put(__float2uint_rz(x));
    put((unsigned)(__float2ll_rz(x) >> 8));
    put((unsigned)__double2int_rz(wide));
    put((unsigned)(__double2ll_rn(wide) >> 4));
    put(__float_as_uint((float)u));
    put(__float_as_uint((float)s));
    put(__float_as_uint((float)u64));
    put((unsigned)((unsigned long long)__double_as_longlong((double)s) >> 32));
    put((unsigned)((unsigned long long)__double_as_longlong((double)u64) & 0xffffffff));
    put(__float_as_uint((float)wide));
    put(__half_as_ushort(__float2half_rn(x)));
    put(__float_as_uint(__half2float(__ushort_as_half(u & 0x7bff))));
    put(__float_as_uint(floorf(x)));
    put(__float_as_uint(ceilf(x)));
    put(__float_as_uint(truncf(x)));
    put(__float_as_uint(rintf(x)));
    put((unsigned)(unsigned char)u + (unsigned)(int)(signed char)(u >> 8));
    put((unsigned)(int)(short)u);
}
