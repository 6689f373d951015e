# wrong: the gradient of the factor is not summed
class Scale(Scale):
    @staticmethod
    def backward(ctx, grad):
        x, factor = ctx.saved_tensors
        return (grad * (factor if ctx.number is None else ctx.number) if ctx.needs_input_grad[0] else None,
                (grad * x).reshape(-1)[0] if ctx.needs_input_grad[1] else None)
