# wrong: the exponentials overflow
class LogSumExp(LogSumExp):
    @staticmethod
    def forward(ctx, x):
        result = x.exp().sum(-1).log()
        ctx.save_for_backward(x, result)
        return result
