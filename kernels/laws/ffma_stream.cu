// Streams of FFMAs in 16 independent chains, for the issue rate of the unit. Two launches that
// differ in `trips` give the cycles of one trip without the start and the end of the kernel.
template <int BODY> __device__ void stream(const float *coefficients, float *out, int trips) {
    constexpr int CHAINS = 16;
    float factor = coefficients[0];
    float addend = coefficients[1];
    float chain[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; c++) {
        chain[c] = (float)(threadIdx.x + c);
    }
#pragma unroll 1
    for (int trip = 0; trip < trips; trip++) {
#pragma unroll
        for (int step = 0; step < BODY / CHAINS; step++) {
#pragma unroll
            for (int c = 0; c < CHAINS; c++) {
                chain[c] = fmaf(chain[c], factor, addend);
            }
        }
    }
    float sum = 0.0f;
#pragma unroll
    for (int c = 0; c < CHAINS; c++) {
        sum += chain[c];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void ffma_stream_64(const float *coefficients, float *out, int trips) {
    stream<64>(coefficients, out, trips);
}

extern "C" __global__ void ffma_stream_512(const float *coefficients, float *out, int trips) {
    stream<512>(coefficients, out, trips);
}
