# wrong: recurses, so a long computation exhausts the stack
def backward_order(root):
    found, seen = [], set()

    def visit(number):
        if number not in seen:
            seen.add(number)
            for operand, _ in number.edges:
                visit(operand)
            found.append(number)
    visit(root)
    return found[::-1]
