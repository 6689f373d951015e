# wrong: does not subtract the maximum of the row
def softmax_kernel(x, out):
    shared = cuda.shared.array(THREADS, "float64")
    for row in range(cuda.blockIdx.x, x.shape[0], cuda.gridDim.x):
        shared[cuda.threadIdx.x] = 0.0
        for j in range(cuda.threadIdx.x, x.shape[1], cuda.blockDim.x):
            out[row, j] = math.exp(x[row, j])
            shared[cuda.threadIdx.x] += out[row, j]
        cuda.syncthreads()
        total = 0.0
        for i in range(cuda.blockDim.x):
            total += shared[i]
        cuda.syncthreads()
        for j in range(cuda.threadIdx.x, x.shape[1], cuda.blockDim.x):
            out[row, j] /= total
