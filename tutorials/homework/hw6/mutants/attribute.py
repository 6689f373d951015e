# wrong: keeps x as an attribute of ctx, so writes are not noticed
class Cube(Cube):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        return grad * 3 * ctx.x * ctx.x
