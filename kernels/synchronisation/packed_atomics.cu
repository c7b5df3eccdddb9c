// Atomic operations on halves, floats, doubles and 64-bit words in global and shared memory. All sums
// are exact, so their order does not matter.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Cells {
    __half2 halves;
    __nv_bfloat162 brains;
    float single;
    unsigned least;
    double wide;
    unsigned long long sum;
    unsigned long long most;
    long long lowest;
    unsigned long long bits;
    unsigned long long swapped;
};

__device__ void update(Cells *cells, unsigned i) {
    atomicAdd(&cells->halves, __floats2half2_rn(static_cast<float>(i % 3), -1.0f));
    atomicAdd(&cells->brains, __floats2bfloat162_rn(static_cast<float>(i % 2), -1.0f));
    atomicAdd(&cells->single, static_cast<float>(i % 17) * 0.25f);
    atomicMin(&cells->least, i * 2654435761u);
    atomicAdd(&cells->wide, static_cast<double>(i) * 0.125);
    atomicAdd(&cells->sum, static_cast<unsigned long long>(i) << 33);
    atomicMax(&cells->most, static_cast<unsigned long long>(i * 40503u % 65536u) << 40 | i);
    atomicMin(&cells->lowest, static_cast<long long>(i % 1000) * -1000000007LL);
    atomicOr(&cells->bits, 1ull << (i % 64));
    // A sum by compare-and-swap.
    unsigned long long seen = cells->swapped, expected;
    do {
        expected = seen;
        seen = atomicCAS(&cells->swapped, expected, expected + i * 3ull);
    } while (seen != expected);
}

extern "C" __global__ void packed_atomics(Cells *global, Cells *shared_out) {
    __shared__ Cells shared;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        shared.halves = __floats2half2_rn(0.0f, 0.0f);
        shared.brains = __floats2bfloat162_rn(0.0f, 0.0f);
        shared.single = 0.0f;
        shared.least = 0xffffffffu;
        shared.wide = 0.0;
        shared.sum = shared.most = shared.bits = shared.swapped = 0;
        shared.lowest = 0;
    }
    __syncthreads();
    update(global, i);
    update(&shared, i);
    __syncthreads();
    if (threadIdx.x == 0)
        shared_out[blockIdx.x] = shared;
}
