# wrong: only the diagonal of the Jacobian matrix
def softmax_backward_kernel(grad, y, out):
    for row in range(cuda.blockIdx.x, y.shape[0], cuda.gridDim.x):
        for j in range(cuda.threadIdx.x, y.shape[1], cuda.blockDim.x):
            out[row, j] = y[row, j] * (1 - y[row, j]) * grad[row, j]
