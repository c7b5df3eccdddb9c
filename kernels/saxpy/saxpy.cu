// y = alpha * x + y with a grid-stride loop.
extern "C" __global__ void saxpy(int n, float alpha, const float *x, float *y) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = fmaf(alpha, x[i], y[i]);
    }
}
