// Dot product in double precision: fused sums per thread over a grid-stride loop, a tree of shuffles
// per warp, one of shared memory per block, then a second launch over the blocks' sums.
__device__ __forceinline__ double block_sum(double sum) {
    __shared__ double sums[32];
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0.0;
        for (int distance = 16; distance > 0; distance /= 2) {
            sum += __shfl_down_sync(0xffffffff, sum, distance);
        }
    }
    return sum;
}

extern "C" __global__ void fp64_dot(const double *a, const double *b, double *partial, int n) {
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum = fma(a[i], b[i], sum);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
    }
}

extern "C" __global__ void fp64_sum(const double *partial, double *total, int blocks) {
    double sum = threadIdx.x < blocks ? partial[threadIdx.x] : 0.0;
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        *total = sum;
    }
}
