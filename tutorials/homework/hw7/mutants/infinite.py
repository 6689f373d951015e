# wrong: subtracts infinities
def logaddexp_kernel(x, y, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = max(x[i], y[i]) + math.log1p(math.exp(-abs(x[i] - y[i])))
