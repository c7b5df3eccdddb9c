// Sparse matrix times vector, the matrix in compressed sparse rows.
constexpr int WARP = 32;

// One thread per row: lanes of a warp run rows of different lengths.
extern "C" __global__ void spmv_scalar(const int *row_offsets, const int *columns,
                                       const float *values, const float *x, float *y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int i = row_offsets[row]; i < row_offsets[row + 1]; i++) {
        sum = fmaf(values[i], x[columns[i]], sum);
    }
    y[row] = sum;
}

// One warp per row: lanes take every 32nd entry, and a shuffle tree adds their sums.
extern "C" __global__ void spmv_vector(const int *row_offsets, const int *columns,
                                       const float *values, const float *x, float *y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    int lane = threadIdx.x % WARP;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int i = row_offsets[row] + lane; i < row_offsets[row + 1]; i += WARP) {
        sum = fmaf(values[i], x[columns[i]], sum);
    }
#pragma unroll
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}
