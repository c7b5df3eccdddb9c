// Histogram of bytes in 256 bins.
constexpr int BINS = 256;

// Counts in shared memory first, then adds each block's counts to the global ones.
// The input is read four bytes at a time.
extern "C" __global__ void histogram_shared(const unsigned *in, unsigned *bins, int words) {
    __shared__ unsigned counts[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        counts[bin] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
        unsigned word = in[i];
#pragma unroll
        for (int byte = 0; byte < 4; byte++) {
            atomicAdd(&counts[word >> (8 * byte) & 0xff], 1);
        }
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        if (counts[bin] != 0) {
            atomicAdd(&bins[bin], counts[bin]);
        }
    }
}

// Counts in global memory straight away, one byte per thread.
extern "C" __global__ void histogram_global(const unsigned char *in, unsigned *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[in[i]], 1);
    }
}
