# wrong: the formula uses numbers without history
class Cube(Cube):
    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * 3 * x.detach() ** 2
