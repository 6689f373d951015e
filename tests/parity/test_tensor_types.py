"""The legacy types of tensors, sequences that become tensors, and NumPy arrays beside tensors: as in PyTorch.

Each snippet runs on both libraries (see ``test_names.py``).
"""

import array
import collections
import warnings

import numpy as np
import pytest
import torch

import minigrad as mg
from tests.parity.test_names import KINDS, plain


def outcome(m, snippet):
    """The result of a snippet without its warnings, or the builtin class of its error."""
    names = {"m": m, "np": np, "deque": collections.deque, "array": array.array}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(eval(snippet, names))
        except KINDS as error:
            return next(kind.__name__ for kind in KINDS if isinstance(error, kind))


def same(snippet):
    assert outcome(mg, snippet) == outcome(torch, snippet)


@pytest.mark.parametrize("snippet", [
    "m.FloatTensor(2,3).shape",
    "m.FloatTensor([1,2])",
    "m.FloatTensor(m.Size([2,3])).shape",
    "m.FloatTensor((2,3))",
    "m.FloatTensor(np.ones(3))",
    "m.FloatTensor(np.ones((2,2),dtype=np.int64))",
    "m.FloatTensor(3.5)",
    "m.FloatTensor(np.int64(3)).shape",
    "m.FloatTensor(np.int64(3), 2).shape",
    "m.FloatTensor(True)",
    "m.FloatTensor(m.ones(3).size()).shape",
    "m.FloatTensor(m.ones(3))",
    "m.FloatTensor(m.ones(3).long())",
    "m.LongTensor(m.ones(3))",
    "m.FloatTensor()",
    "m.FloatTensor(0).shape",
    "m.FloatTensor([])",
    "m.FloatTensor([[1,2],[3,4]])",
    "m.FloatTensor(range(3))",
    "m.FloatTensor([m.tensor(1.), m.tensor(2.)])",
    "m.FloatTensor([np.float32(1.), np.float64(2)])",
    "m.FloatTensor(None)",
    "m.FloatTensor('a')",
    "m.FloatTensor(2,3,dtype=m.float64)",
    "m.FloatTensor(2,3,device='cpu').shape",
    "m.FloatTensor(size=(2,3)).shape",
    "m.FloatTensor(deque([1,2]))",
    "m.FloatTensor(array('f',[1,2]))",
    "m.LongTensor([1.5,2])",
    "m.LongTensor(2,3).dtype",
    "m.LongTensor([[0,1]]).type()",
    "m.ByteTensor([1,0]).type()",
    "m.BoolTensor([1,0]), m.BoolTensor([True])",
    "m.IntTensor([1]), m.ShortTensor([1]), m.CharTensor([1]), m.DoubleTensor([1]), m.HalfTensor([1])",
    "m.ones(2).type() == 'torch.FloatTensor'",
    "m.ones(2).type(m.LongTensor)",
    "m.ones(2).type('torch.LongTensor')",
    "m.ones(2).type('torch.DoubleTensor').type() == 'torch.DoubleTensor'",
    "m.ones(2).type('FloatTensor')",
    "m.ones(2).type('torch.cuda.FloatTensor')",
    "m.ones(2).type(m.ones(2).type())",
    "m.ones(2).type(dtype=m.float64)",
    "m.ones(2).type(m.float64, non_blocking=False)",
    "m.ones(2).type(m.Tensor)",
    "m.ones(2).type(float)",
    "m.ones(2).type(int)",
    "isinstance(m.ones(2), m.FloatTensor), isinstance(m.ones(2), m.LongTensor), isinstance(m.ones(2), m.cuda.FloatTensor), isinstance(m.ones(2).long(), (m.LongTensor, m.IntTensor))",
    "isinstance(m.nn.Parameter(m.ones(2)), m.FloatTensor)",
    "m.cuda.FloatTensor(2)",
    "m.cuda.LongTensor([1])",
    "m.cuda.FloatTensor.is_cuda, m.FloatTensor.is_cuda, m.FloatTensor.dtype, m.cuda.ByteTensor.dtype",
    "m.ones(2).is_cuda and m.cuda.FloatTensor or m.FloatTensor",
    "m.Tensor(m.ones(2).long())",
    "m.Tensor(np.ones(2)), m.Tensor(3.5)",
    "m.Tensor(m.Size([2,3])).shape",
    "m.Tensor((2,3)), m.Tensor(range(3))",
    "m.Tensor([True, False])",
    "m.Tensor(2,3,device='cpu').shape",
    "m.Tensor(2,3,dtype=m.float64).shape",
    "m.Tensor(2,3,requires_grad=True).shape",
    "m.Tensor(None)",
    "m.Tensor('a')",
    "m.Tensor(deque([1,2]))",
    "m.Tensor(np.int64(3)).shape",
    "m.Tensor(data=[1.,2.])",
    "m.Tensor.type(m.ones(2))",
    "m.ones(2).new([1,2]), m.ones(2).long().new([1,2]), m.ones(2).new(2,3).shape, m.ones(2).new(m.Size([3])).shape, m.ones(2).new().shape",
    "m.ones(2).data.new(3).zero_()",
    "m.ones(2).new(m.ones(2)), m.ones(2).new(np.ones(2))",
    "m.ones(2).data.new([1.]).requires_grad",
    "m.ones(2).new(2.5)",
    "m.ones(2).new(m.ones(2).long())",
    "m.ones(2).new_tensor([1,2]), m.ones(2).new_tensor(np.ones(2)), m.ones(2).new_tensor(3)",
    "m.ones(2).new_full((2,),3.), m.ones(2).new_zeros(2,3), m.ones(2).new_zeros((2,3)), m.ones(2).new_ones(m.Size([2])), m.ones(2).new_empty(2).shape",
    "m.ones(2).new_zeros(size=(2,3)), m.ones(2).new_ones(size=(2,)), m.ones(2).new_empty(size=(2,)).shape",
    "m.ones(2).new_full(size=(2,),fill_value=3, dtype=m.int64)",
    "m.ones(2).new_tensor(data=[1,2], dtype=m.int64)",
    "m.ones(2).type_as(m.ones(2).long())",
    "m.is_tensor(m.ones(2)), m.is_tensor(3)",
    "m.FloatTensor, m.cuda.FloatTensor",
    "str(m.FloatTensor), m.FloatTensor.__name__",
    "m.FloatTensor == m.FloatTensor, m.FloatTensor is type(m.ones(2))",
    "issubclass(m.FloatTensor, m.Tensor)",
    "hash(m.FloatTensor) == hash(m.FloatTensor)",
    "m.FloatTensor(2,3).fill_(1)",
    "m.FloatTensor(2,-1)",
    "m.FloatTensor([1,'a'])",
    "m.FloatTensor({1:2})",
    "m.FloatTensor({1,2})",
    "m.FloatTensor([1,2], device='cpu')",
    "m.LongTensor([2**40]), m.IntTensor([2**40])",
    "m.ByteTensor([300])",
    "m.CharTensor([-1])",
    "m.ByteTensor([-1])",
    "m.FloatTensor(*[2,3]).shape",
    "m.tensor([1.]).type(m.HalfTensor).type()",
    "m.tensor([1j]).type()",
])
def test_legacy_types(snippet):
    same(snippet)


@pytest.mark.parametrize("snippet", [
    "m.tensor(deque([1,2]))",
    "m.tensor([deque([1,2]),deque([3,4])])",
    "m.tensor(deque([[1,2],[3,4.]]))",
    "m.tensor(array('f',[1,2]))",
    "m.tensor(array('i',[1,2]))",
    "m.tensor(array('B',[1,2]))",
    "m.tensor(array('d',[1,2]), dtype=m.int64)",
    "m.tensor([array('f',[1,2]),array('f',[1,2])])",
    "m.tensor(bytearray(b'ab'))",
    "m.tensor(b'ab')",
    "m.tensor(memoryview(b'ab'))",
    "m.tensor({1:2})",
    "m.tensor({1,2})",
    "m.tensor({'a':2}.values())",
    "m.tensor(map(int,[1]))",
    "m.tensor([m.ones(1),m.ones(1)])",
    "m.tensor([m.ones(1,1),m.ones(1)])",
    "m.tensor([m.ones(()),m.ones(1)])",
    "m.tensor([[m.ones(1)],[m.ones(1)]])",
    "m.tensor([m.ones(2),m.ones(2)])",
    "m.tensor([m.ones(0),m.ones(0)])",
    "m.tensor([m.ones(2),m.ones(3)])",
    "m.tensor([m.ones(2)])",
    "m.tensor([m.ones(1,2)])",
    "m.tensor([m.ones(1),2])",
    "m.tensor([1,m.ones(1)])",
    "m.tensor([1,m.ones(2)])",
    "m.tensor([[1,2],m.ones(2)])",
    "m.tensor([m.ones(1).long(),m.ones(1)])",
    "m.tensor([m.ones(1).long(),m.ones(1).long()])",
    "m.tensor([m.ones(1).double()])",
    "m.tensor([m.ones(1).bool()])",
    "m.tensor([m.ones(1,requires_grad=True)])",
    "m.tensor([m.ones(1)],dtype=m.int64)",
    "m.tensor([m.tensor(1.5)],dtype=m.int64)",
    "m.tensor((m.ones(1),m.ones(1)))",
    "m.tensor([np.ones(1),np.ones(1)])",
    "m.tensor([np.ones(2),np.ones(2)])",
    "m.tensor([np.float32(1),np.float32(1)])",
    "m.tensor([np.ones(2),m.ones(2)])",
    "m.tensor([np.ones(1),m.ones(1)])",
    "m.tensor([300],dtype=m.uint8)",
    "m.tensor([-1],dtype=m.uint8)",
    "m.tensor([2**40],dtype=m.int32)",
    "m.tensor([128],dtype=m.int8)",
    "m.tensor(300,dtype=m.uint8)",
    "m.tensor([1.9,-1.9],dtype=m.int32)",
    "m.tensor([300.],dtype=m.uint8)",
    "m.tensor(np.array([300]),dtype=m.uint8)",
    "m.tensor([True],dtype=m.uint8)",
    "m.tensor([2],dtype=m.bool)",
    "m.tensor([deque([1,2]),deque([3])])",
    "m.tensor([deque([1,2]),3])",
    "m.tensor(deque())",
    "m.tensor([deque()])",
    "m.tensor(deque([m.ones(1),m.ones(1)]))",
    "m.tensor(deque(['a']))",
    "m.tensor(['a'])",
    "m.tensor([1,'a'])",
    "m.tensor([None])",
    "m.tensor([1,None])",
    "m.as_tensor(deque([1,2]))",
    "m.as_tensor([m.ones(1),m.ones(1)])",
    "m.as_tensor([m.ones(2),m.ones(2)])",
    "m.as_tensor(array('f',[1,2]))",
    "m.Tensor([m.ones(1),m.ones(1)])",
    "m.Tensor([m.ones(2),m.ones(2)])",
    "m.FloatTensor([m.ones(2),m.ones(2)])",
    "m.LongTensor([m.ones(1).long(),2])",
    "m.tensor(type('S',(),{'__len__':lambda s:3,'__getitem__':lambda s,i:[5,6,7][i]})())",
    "m.tensor([type('S',(),{'__len__':lambda s:3,'__getitem__':lambda s,i:[5,6,7][i]})()])",
    "m.tensor(type('S',(),{'__len__':lambda s:3})())",
    "m.tensor(range(3)), m.tensor([range(3)])",
    "m.tensor(m.Size([2,3]))",
    "m.tensor([m.Size([2,3])])",
])
def test_sequences(snippet):
    same(snippet)


@pytest.mark.differs(
    what="`np.sum(x)`, `np.mean(x)` and `np.max(x)` of a tensor",
    there="They raise a TypeError: NumPy calls the method with `axis` and `out`, which PyTorch's methods do not take.",
    here="They return a tensor, because the methods also take NumPy's names of arguments.")
@pytest.mark.parametrize("snippet", ["np.sum(m.ones(2))", "np.mean(m.ones(2))", "np.max(m.ones(2))"])
def test_reductions_of_numpy(snippet):
    assert outcome(torch, snippet) == "TypeError" and outcome(mg, snippet)[:3] == ("tensor", "float32", ())


@pytest.mark.parametrize("snippet", [
    "np.ones(2)*m.ones(2,dtype=m.float64)",
    "np.ones(2)+m.ones(2)",
    "np.float64(2)*m.ones(2)",
    "np.float32(2)-m.ones(2)",
    "np.ones(2)-m.ones(2).long()",
    "np.ones(2)@m.ones(2,dtype=m.float64)",
    "np.ones(2)**m.ones(2,dtype=m.float64)",
    "np.ones(2)==m.ones(2)",
    "np.ones(2)<m.ones(2)",
    "np.ones(2)//m.ones(2)",
    "np.ones(2)%m.ones(2)",
    "np.ones(2)*m.ones(2,requires_grad=True)",
    "np.int64(2)*m.ones(2,requires_grad=True)",
    "np.float64(2)+m.ones(2,requires_grad=True)",
    "np.ones((2,2))*m.ones(2)",
    "m.ones(2,requires_grad=True)*np.ones(2)",
    "m.ones(2)*np.float64(2)",
    "m.ones(2)-np.int64(1)",
    "m.ones(2)==np.ones(2)",
    "np.stack([m.ones(2),m.ones(2)])",
    "np.array([m.ones(1),m.ones(1)]).shape",
    "np.sqrt(m.ones(2)).dtype",
    "np.concatenate([m.ones(2),m.ones(2)]).tolist()",
    "np.float64(2)>m.ones(2)",
    "m.Tensor.__array_priority__",
    "m.ones(2).__array_priority__",
])
def test_arrays_beside_tensors(snippet):
    same(snippet)


@pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])
def test_default_tensor_type(m):
    with pytest.warns(UserWarning, match="deprecated") if m is mg else warnings.catch_warnings(action="ignore"):
        m.set_warn_always(True)
        try:
            m.set_default_tensor_type("torch.DoubleTensor")
        finally:
            m.set_warn_always(False)
    try:
        made = m.tensor(1.0), m.ones(2), m.Tensor([1, 2]), m.Tensor(2), m.Tensor()
        assert all(x.dtype is m.float64 for x in made)
        assert m.FloatTensor([1]).dtype is m.float32 and m.ones(2).type() == "torch.DoubleTensor"
        m.set_default_tensor_type(m.FloatTensor)
        assert m.zeros(2).dtype is m.float32
    finally:
        m.set_default_dtype(m.float32)


@pytest.mark.parametrize("wrong", ["'torch.LongTensor'", "3", "m.float32", "m.LongTensor", "m.Tensor"])
def test_wrong_default_tensor_types(wrong):
    same(f"m.set_default_tensor_type({wrong})")


@pytest.mark.skipif(torch.cuda.is_available() or mg.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("snippet", [
    "m.cuda.FloatTensor(2)", "m.cuda.LongTensor([1])", "m.set_default_tensor_type(m.cuda.FloatTensor)",
    "m.set_default_tensor_type('torch.cuda.FloatTensor')", "m.ones(2).type(m.cuda.FloatTensor if m.cuda.is_available() else m.FloatTensor)",
    "m.cuda.NoTensor",
])
def test_types_of_a_gpu_that_is_missing(snippet):
    same(snippet)


def test_names_of_types():
    """PyTorch's names, and ours as an argument."""
    x = mg.ones(2)
    assert x.type() == "torch.FloatTensor" and type(x.type()) is str
    assert x.type("minigrad.LongTensor").type() == "torch.LongTensor"
    assert repr(mg.FloatTensor) == "<class 'minigrad.FloatTensor'>" and repr(mg.cuda.FloatTensor) == "<class 'minigrad.cuda.FloatTensor'>"


def test_tensors_in_a_list_say_what_to_do():
    with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars") as caught:
        mg.tensor([mg.ones(2), mg.ones(2)])
    assert "minigrad.stack" in str(caught.value)
