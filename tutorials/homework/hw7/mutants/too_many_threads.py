# wrong: one number for each thread, also where there is none
def logaddexp_kernel(x, y, out):
    i = cuda.grid(1)
    most = max(x[i], y[i])
    out[i] = most + math.log1p(math.exp(-abs(x[i] - y[i])))
