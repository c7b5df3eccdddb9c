// Calls that the compiler cannot resolve: recursion with a frame, virtual functions, function pointers.

__device__ unsigned mix(unsigned x) {
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    x ^= x >> 12;
    return x;
}

// Each level has four words on its stack and picks one by its data; some levels go down twice.
__device__ __noinline__ unsigned walk(unsigned state, unsigned depth) {
    unsigned frame[4];
    for (unsigned k = 0; k < 4; ++k)
        frame[k] = mix(state + k);
    if (depth == 0)
        return frame[state & 3];
    unsigned result = walk(frame[state & 3], depth - 1);
    if (result & 1)
        result += walk(frame[result >> 1 & 3], depth / 2);
    return result ^ frame[result & 3];
}

extern "C" __global__ void recursion(unsigned *out, unsigned depth) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = walk(i, i % depth);
}

struct Operation {
    unsigned seed;
    __device__ Operation(unsigned seed) : seed(seed) {}
    __device__ virtual unsigned apply(unsigned x) const = 0;
};
struct Add : Operation {
    using Operation::Operation;
    __device__ unsigned apply(unsigned x) const override { return x + seed; }
};
struct Multiply : Operation {
    using Operation::Operation;
    __device__ unsigned apply(unsigned x) const override { return x * (seed | 1); }
};
struct Rotate : Operation {
    using Operation::Operation;
    __device__ unsigned apply(unsigned x) const override { return x << (seed & 31) | x >> (-seed & 31); }
};
struct Twice : Operation {
    const Operation *inner;
    __device__ Twice(const Operation *inner) : Operation(0), inner(inner) {}
    __device__ unsigned apply(unsigned x) const override { return inner->apply(inner->apply(x)); }
};

// Every lane calls the method of an object of its own kind.
extern "C" __global__ void virtual_calls(unsigned *out, int rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    Add add(i);
    Multiply multiply(i * 2 + 7);
    Rotate rotate(i % 29 + 1);
    Twice twice(&multiply);
    const Operation *objects[4] = {&add, &multiply, &rotate, &twice};
    unsigned x = i + 1;
    for (int round = 0; round < rounds; ++round)
        x = objects[(x >> 3 ^ round) & 3]->apply(x);
    out[i] = x;
}

using Function = unsigned (*)(unsigned, unsigned);
__device__ __noinline__ unsigned sum(unsigned a, unsigned b) { return a + b; }
__device__ __noinline__ unsigned difference(unsigned a, unsigned b) { return a - b; }
__device__ __noinline__ unsigned product(unsigned a, unsigned b) { return a * b; }
__device__ Function functions[3] = {sum, difference, product};

extern "C" __global__ void function_pointers(unsigned *out, int rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = i;
    for (int round = 0; round < rounds; ++round)
        x = functions[x % 3](x, round + 3);
    out[i] = x;
}

// A jump table: one branch through a register for each lane.
extern "C" __global__ void jump_table(unsigned *out, int rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = i;
    for (int round = 0; round < rounds; ++round) {
        switch (x % 9) {
        case 0: x = x * 3 + 1; break;
        case 1: x ^= 0x55; break;
        case 2: x = (x >> 1) + round; break;
        case 3: x = ~x; break;
        case 4: x += 1000003; break;
        case 5: x = x * x + 5; break;
        case 6: x = (x << 7) - x; break;
        case 7: x = mix(x); break;
        default: x -= round; break;
        }
    }
    out[i] = x;
}
