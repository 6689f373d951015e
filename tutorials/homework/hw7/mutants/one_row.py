# wrong: as many rows as blocks
def softmax_kernel(x, out):
    row = cuda.blockIdx.x
    if row < x.shape[0]:
        most = max([x[row, j] for j in range(x.shape[1])])
        total = sum([math.exp(x[row, j] - most) for j in range(x.shape[1])])
        for j in range(cuda.threadIdx.x, x.shape[1], cuda.blockDim.x):
            out[row, j] = math.exp(x[row, j] - most) / total
