// Module-level variables: initialised and zeroed global arrays, a constant array, and a pointer to
// one of them. Release 11.8 patches their addresses into the code (relocations of .text), later
// releases keep them in constant bank 4.
__device__ unsigned table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ unsigned calls[8];
__device__ unsigned *pointer_to_calls = calls;
__constant__ unsigned factors[4] = {2, 7, 1, 8};

extern "C" __global__ void globals(unsigned *out) {
    unsigned i = threadIdx.x;
    unsigned before = atomicAdd(&calls[i % 8], 1);
    __syncthreads();
    unsigned after = pointer_to_calls[i % 8];
    out[i] = table[i % 8] * 100 + factors[i % 4] * 10 + after + (before >= after);
}
