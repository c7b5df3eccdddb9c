// What device code asks of the system: printf, malloc and free, new and delete, assert.
#include <cassert>
#include <cstdio>

// Lines of every conversion; the return value is the number of arguments.
extern "C" __global__ void print_lines(unsigned *counts, const char *word, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int count = printf("thread %3d of block %u: %+d %05d %-4d| %x %#o %c\n", threadIdx.x, blockIdx.x, i - 3, i * 7,
                       i, i * 255, i, 'a' + i % 26);
    if (i % 3 == 0) {
        char local[8] = {'l', 'o', 'c', 'a', 'l', static_cast<char>('0' + i % 10), 0};
        count += printf("%s %s %8.3s| %.2f %e %g %a %lld %%\n", word, local, "literal", i * 0.5, i * 1.0e10, i / 8.0,
                        static_cast<double>(i), static_cast<long long>(i) << 40);
    }
    counts[i] = count;
}

// A list per thread of nodes from the heap, summed and freed again; some blocks stay for the next.
struct Node {
    Node *next;
    unsigned value;
};

extern "C" __global__ void heap_lists(unsigned *sums, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    for (int round = 0; round < rounds; ++round) {
        Node *head = nullptr;
        int length = 1 + (i * 5 + round) % 7;
        for (int k = 0; k < length; ++k) {
            Node *node = new Node;
            node->value = i * 100 + round * 10 + k;
            node->next = head;
            head = node;
        }
        while (head) {
            Node *next = head->next;
            sum = sum * 31 + head->value;
            delete head;
            head = next;
        }
    }
    sums[i] = sum;
}

// Blocks of a common heap: every thread writes its own, none may overlap another. Thread 0 of a block
// gives memory to all its threads.
extern "C" __global__ void heap_blocks(unsigned *sums, int words) {
    __shared__ unsigned *common;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *own = static_cast<unsigned *>(malloc(words * sizeof(unsigned)));
    if (threadIdx.x == 0)
        common = static_cast<unsigned *>(malloc(blockDim.x * sizeof(unsigned)));
    __syncthreads();
    for (int k = 0; k < words; ++k)
        own[k] = i * words + k;
    common[threadIdx.x] = i;
    __syncthreads();
    unsigned sum = common[blockDim.x - 1 - threadIdx.x];
    for (int k = 0; k < words; ++k)
        sum += own[k];
    sums[i] = sum;
    free(own);
    __syncthreads();
    if (threadIdx.x == 0)
        free(common);
}

// More than the heap holds: null, and null may be freed.
extern "C" __global__ void heap_exhausted(unsigned *got, unsigned long long bytes) {
    void *block = malloc(bytes);
    got[threadIdx.x] = block != nullptr;
    __syncthreads();
    free(block);
}

extern "C" __global__ void assertion(const unsigned *values, int limit) {
    assert(values[threadIdx.x] < static_cast<unsigned>(limit));
}

extern "C" __global__ void freed_twice(int times) {
    void *block = malloc(16);
    for (int k = 0; k < times; ++k)
        free(block);
}
