// Arithmetic only: `trips` rounds of 64 fused multiply-adds in eight independent chains. Factor and
// addend come from memory, so that every operand is a register and none a constant-bank word.
extern "C" __global__ void ffma_eight_chains(const float *coefficients, float *out, int trips) {
    float factor = coefficients[0];
    float addend = coefficients[1];
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float chain[8];
#pragma unroll
    for (int c = 0; c < 8; c++) {
        chain[c] = (float)(threadIdx.x + c);
    }
#pragma unroll 1
    for (int trip = 0; trip < trips; trip++) {
#pragma unroll
        for (int step = 0; step < 8; step++) {
#pragma unroll
            for (int c = 0; c < 8; c++) {
                chain[c] = fmaf(chain[c], factor, addend);
            }
        }
    }
    float sum = 0.0f;
#pragma unroll
    for (int c = 0; c < 8; c++) {
        sum += chain[c];
    }
    out[thread] = sum;
}
