# wrong: each thread reads the whole row, so the memory is read many times
def softmax_kernel(x, out):
    for row in range(cuda.blockIdx.x, x.shape[0], cuda.gridDim.x):
        most = max([x[row, j] for j in range(x.shape[1])])
        total = sum([math.exp(x[row, j] - most) for j in range(x.shape[1])])
        for j in range(cuda.threadIdx.x, x.shape[1], cuda.blockDim.x):
            out[row, j] = math.exp(x[row, j] - most) / total
