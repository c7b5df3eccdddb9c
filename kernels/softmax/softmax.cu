// Softmax of each row of a matrix, one block of 128 threads per row.
#include <math_constants.h>

constexpr int WARP = 32;
constexpr int WARPS = 4;
constexpr unsigned ALL_LANES = 0xffffffffu;

extern "C" __global__ void __launch_bounds__(WARP *WARPS)
    softmax(const float *in, float *out, int columns) {
    __shared__ float of_warp[WARPS];
    const float *row = in + blockIdx.x * columns;
    int lane = threadIdx.x % WARP;
    int warp = threadIdx.x / WARP;

    float most = -CUDART_INF_F;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        most = fmaxf(most, row[i]);
    }
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        most = fmaxf(most, __shfl_xor_sync(ALL_LANES, most, offset));
    }
    if (lane == 0) {
        of_warp[warp] = most;
    }
    __syncthreads();
    most = fmaxf(fmaxf(of_warp[0], of_warp[1]), fmaxf(of_warp[2], of_warp[3]));
    __syncthreads();

    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        sum += expf(row[i] - most);
    }
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(ALL_LANES, sum, offset);
    }
    if (lane == 0) {
        of_warp[warp] = sum;
    }
    __syncthreads();
    sum = of_warp[0] + of_warp[1] + of_warp[2] + of_warp[3];

    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        out[blockIdx.x * columns + i] = expf(row[i] - most) / sum;
    }
}
