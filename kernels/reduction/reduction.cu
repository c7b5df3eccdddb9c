// Sum of an array: a grid-stride sum per thread, shuffles within each warp, shared memory between
// the warps of a block. A second launch with one block adds the blocks' sums.
constexpr int WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

__device__ float warp_sum(float value) {
#pragma unroll
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        value += __shfl_down_sync(ALL_LANES, value, offset);
    }
    return value;
}

extern "C" __global__ void reduce_sum(const float *in, float *partial, int n) {
    __shared__ float warp_sums[WARP];
    int lane = threadIdx.x % WARP;
    int warp = threadIdx.x / WARP;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        warp_sums[warp] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        sum = lane < blockDim.x / WARP ? warp_sums[lane] : 0.0f;
        sum = warp_sum(sum);
        if (lane == 0) {
            partial[blockIdx.x] = sum;
        }
    }
}

// Reductions over a warp: one instruction from Ampere on, shuffles before.
template <typename Operation>
__device__ int warp_fold(int value, Operation operation) {
#pragma unroll
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        value = operation(value, __shfl_xor_sync(ALL_LANES, value, offset));
    }
    return value;
}

__device__ int warp_add(int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL_LANES, value);
#else
    return warp_fold(value, [](int a, int b) { return a + b; });
#endif
}

__device__ int warp_min(int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(ALL_LANES, value);
#else
    return warp_fold(value, [](int a, int b) { return min(a, b); });
#endif
}

__device__ int warp_max(int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(ALL_LANES, value);
#else
    return warp_fold(value, [](int a, int b) { return max(a, b); });
#endif
}

// Sum, minimum and maximum of integers over each warp, then one global atomic of each kind per
// warp. `result` starts as {0, largest, smallest}.
extern "C" __global__ void reduce_integers(const int *in, int *result, int n) {
    int sum = 0;
    int least = 0x7fffffff;
    int most = -0x7fffffff - 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int value = in[i];
        sum += value;
        least = min(least, value);
        most = max(most, value);
    }
    sum = warp_add(sum);
    least = warp_min(least);
    most = warp_max(most);
    if (threadIdx.x % WARP == 0) {
        atomicAdd(&result[0], sum);
        atomicMin(&result[1], least);
        atomicMax(&result[2], most);
    }
}
