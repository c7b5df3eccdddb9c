// Black-Scholes prices of European options: one thread per option, the cumulative normal distribution
// by Hart's rational polynomial in five terms.
__device__ __forceinline__ float normal(float d) {
    float k = 1.0f / fmaf(0.2316419f, fabsf(d), 1.0f);
    float polynomial = fmaf(1.330274429f, k, -1.821255978f);
    polynomial = fmaf(polynomial, k, 1.781477937f);
    polynomial = fmaf(polynomial, k, -0.356563782f);
    polynomial = fmaf(polynomial, k, 0.31938153f) * k;
    float tail = 0.39894228040143267794f * expf(-0.5f * d * d) * polynomial;
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(const float *price, const float *strike, const float *years,
                                         float *call, float *put, float rate, float volatility, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float s = price[i];
        float x = strike[i];
        float t = years[i];
        float root = sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        float d2 = d1 - volatility * root;
        float n1 = normal(d1);
        float n2 = normal(d2);
        float discounted = x * expf(-rate * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}
