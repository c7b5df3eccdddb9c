// Memory only: each of `trips` rounds loads four words and stores four. Every access of a warp
// covers one 128-byte line that nothing has touched before, so each misses the L1 cache.
extern "C" __global__ void stream(const float *in, float *out, int trips) {
    int threads = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int trip = 0; trip < trips; trip++) {
        float v0 = in[i];
        float v1 = in[i + threads];
        float v2 = in[i + 2 * threads];
        float v3 = in[i + 3 * threads];
        out[i] = v0 + 1.0f;
        out[i + threads] = v1 + 1.0f;
        out[i + 2 * threads] = v2 + 1.0f;
        out[i + 3 * threads] = v3 + 1.0f;
        i += 4 * threads;
    }
}
