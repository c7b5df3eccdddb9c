// Library functions that rest on the approximate function unit, and the approximations themselves.
extern "C" __global__ void transcendental(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float x = in[i];
    int row = 0;
    auto put = [&](float value) { out[row++ * n + i] = value; };

    put(expf(x));
    put(logf(fabsf(x) + 0.125f));
    put(sinf(x));
    put(cosf(x));
    // Large arguments reduce in local memory.
    put(sinf(x * 1000000.0f));
    put(powf(fabsf(x) + 0.5f, 1.7f));
    put(tanhf(x));
    put(rsqrtf(fabsf(x) + 0.25f));
    put(exp2f(x));
    put(atan2f(x, 2.0f));
    put(__sinf(x));
    put(__expf(x));
    put(__fdividef(x, 3.0f));
    put(erff(x));
}
