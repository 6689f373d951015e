# wrong: saves all, needed or not
class Scale(Scale):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.number = None if isinstance(factor, mg.Tensor) else factor
        ctx.save_for_backward(x, None if ctx.number is not None else factor)
        return x * factor
