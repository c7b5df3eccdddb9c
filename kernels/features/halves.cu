// Arithmetic on pairs of halves. The inputs lie in [0.5, 4), where every fused result is the rounding
// of a number that a double holds exactly.
#include <cuda_fp16.h>

__device__ unsigned bits(half2 pair) {
    return *(unsigned *)&pair;
}

extern "C" __global__ void halves(const half2 *a_in, const half2 *b_in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    half2 a = a_in[i];
    half2 b = b_in[i];
    int row = 0;
    auto put = [&](unsigned value) { out[row++ * n + i] = value; };

    put(bits(__hadd2_rn(a, b)));
    put(bits(__hsub2_rn(a, b)));
    put(bits(__hmul2_rn(a, b)));
    put(bits(__hfma2(a, b, a)));
    put(bits(__hmin2(a, b)));
    put(bits(__hmax2(a, b)));
    put(bits(__hneg2(a)));
    put(bits(__hgt2(a, b)));
    put(__hbeq2(a, a) ? 1 : 0);
    put(__hgt(__low2half(a), __high2half(b)) ? 1 : 0);
}
