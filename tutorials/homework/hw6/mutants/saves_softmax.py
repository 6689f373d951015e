# wrong: saves the softmax too
class LogSumExp(LogSumExp):
    @staticmethod
    def forward(ctx, x):
        result = mg.logsumexp(x, -1)
        ctx.save_for_backward(x, result, mg.softmax(x, -1))
        return result

    @staticmethod
    def backward(ctx, grad):
        x, result, _ = ctx.saved_tensors
        return grad.unsqueeze(-1) * (x - result.unsqueeze(-1)).exp()
