# wrong: keeps the result as a detached attribute, so the second derivative lacks a part
class LogSumExp(LogSumExp):
    @staticmethod
    def forward(ctx, x):
        result = mg.logsumexp(x, -1)
        ctx.save_for_backward(x)
        ctx.result = result.detach()
        return result

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad.unsqueeze(-1) * (x - ctx.result.unsqueeze(-1)).exp()
