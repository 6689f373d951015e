# wrong: all gradients are zero
class Cube(Cube):
    @staticmethod
    def backward(ctx, grad):
        return grad * 0


class Scale(Scale):
    @staticmethod
    def backward(ctx, grad):
        return grad * 0, None


class LogSumExp(LogSumExp):
    @staticmethod
    def backward(ctx, grad):
        return ctx.saved_tensors[0] * 0
