# wrong: reads what the other threads have not written yet
def softmax_kernel(x, out):
    shared = cuda.shared.array(THREADS, "float64")
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    for row in range(cuda.blockIdx.x, x.shape[0], cuda.gridDim.x):
        shared[thread] = max([x[row, j] for j in range(thread, x.shape[1], threads)] + [-math.inf])
        most = max(shared[:threads])
        shared[thread] = sum([math.exp(x[row, j] - most) for j in range(thread, x.shape[1], threads)])
        total = sum(shared[:threads])
        for j in range(thread, x.shape[1], threads):
            out[row, j] = math.exp(x[row, j] - most) / total
