import sys
import os
import threading

sys.setrecursionlimit(10**6)
threading.stack_size(64 * 1024 * 1024)

import numpy as np
import sympy as sp
from sympy.utilities.lambdify import lambdify
from mpi4py import MPI

comm = MPI.COMM_WORLD
x, y, t = sp.symbols("x y t", real=True)


class Tree:
    __slots__ = ("left", "right", "key")

    def __init__(self, key):
        self.key, self.left, self.right = key, None, None


def insert(node, key):
    if node is None:
        return Tree(key)
    if key < node.key:
        node.left = insert(node.left, key)
    else:
        node.right = insert(node.right, key)
    return node


def depth(node):
    return 0 if node is None else 1 + max(depth(node.left), depth(node.right))


def chain(n):
    # the worst case: every node has one child
    root = last = Tree(0)
    for key in range(1, n):
        last.right = Tree(key)
        last = last.right
    return root


def solve(out):
    rng = np.random.default_rng(comm.rank)
    root = None
    for key in rng.permutation(500):
        root = insert(root, int(key))
    out.append((depth(root), depth(chain(20000))))


result = []
worker = threading.Thread(target=solve, args=(result,))
worker.start()
worker.join()

f = sp.integrate(sp.sin(x) ** 2 * sp.exp(-t * x), (x, 0, sp.pi))
value = lambdify(t, f, "numpy")(1.0 + comm.rank)
print("rank", comm.rank, result[0], "integral %.10f" % value, sys.getrecursionlimit())
comm.Barrier()
if comm.rank == 0:
    print(sp.diff(sp.atan(x * y), x), os.sep, sp.solve(x**2 - 2 * y, x))
