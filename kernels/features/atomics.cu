// Atomic operations of every kind on global and shared memory. Each cell is touched by many threads,
// with operations whose final result does not depend on the order.
#include <cuda_fp16.h>

extern "C" __global__ void atomics(const unsigned *in, unsigned *cells, unsigned long long *wide,
                                   float *reals, double *doubles, half2 *halves,
                                   unsigned *shared_cells) {
    __shared__ unsigned shared[16];
    __shared__ unsigned long long shared_wide;
    __shared__ float shared_real;
    if (threadIdx.x < 16) {
        shared[threadIdx.x] = threadIdx.x == 3 || threadIdx.x == 1 ? 0xffffffffu : 0;
        shared_wide = 0;
        shared_real = 0.0f;
    }
    __syncthreads();
    unsigned value = in[blockIdx.x * blockDim.x + threadIdx.x];

    atomicAdd(&cells[0], value);
    atomicMin(&cells[1], value);
    atomicMax(&cells[2], value);
    atomicAnd(&cells[3], value | 0xffff);
    atomicOr(&cells[4], value & 0xff0);
    atomicXor(&cells[5], value);
    atomicInc(&cells[6], 1000000);
    atomicDec(&cells[7], 1000000);
    atomicMin((int *)&cells[8], (int)value);
    atomicMax((int *)&cells[9], (int)value);
    atomicSub(&cells[10], 1);
    // The sum of the values before equals 0 + 1 + ... only if no addition was lost.
    atomicAdd(&cells[11], atomicAdd(&cells[12], 1));
    // A read-modify-write loop by compare and swap.
    unsigned seen = cells[13];
    unsigned expected;
    do {
        expected = seen;
        seen = atomicCAS(&cells[13], expected, expected + (value & 3));
    } while (seen != expected);

    atomicAdd(&wide[0], value * 0x100000001ull);
    atomicMax(&wide[1], (unsigned long long)value << 20);
    atomicExch(&wide[2], 0x123456789abcdefull);
    // Small whole numbers: the sums are exact in any order.
    atomicAdd(reals, (float)(value & 15));
    atomicAdd(doubles, (double)(value & 1023));
    atomicAdd(halves, __floats2half2_rn((float)(value & 1), 1.0f));

    atomicAdd(&shared[0], value);
    atomicMin(&shared[1], value);
    atomicMax(&shared[2], value);
    atomicAnd(&shared[3], value | 0xff);
    atomicOr(&shared[4], value & 0xff0);
    atomicXor(&shared[5], value);
    atomicInc(&shared[6], 1000000);
    atomicAdd(&shared[7], 1);
    atomicAdd(&shared_wide, (unsigned long long)value);
    atomicAdd(&shared_real, (float)(value & 15));
    unsigned slot = atomicAdd(&shared[8], 1);
    atomicXor(&shared[9], slot);
    atomicExch(&shared[10], 77);
    atomicCAS(&shared[11], 0, 5);
    __syncthreads();
    if (threadIdx.x < 16) {
        unsigned result = threadIdx.x == 14   ? (unsigned)(shared_wide >> 3)
                          : threadIdx.x == 15 ? (unsigned)shared_real
                                              : shared[threadIdx.x];
        shared_cells[blockIdx.x * 16 + threadIdx.x] = result;
    }
}
