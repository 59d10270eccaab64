#!/usr/bin/env python
"""
Parallel trapezoidal rule, and a ring.

To run on 2 processes:
    mpiexec -n 2 python app.py
"""
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

a, b, n = 0.0, 1.0, 10000


def f(x):
    return x * x


def integrateRange(a, b, n):
    integral = -(f(a) + f(b)) / 2.0
    for x in numpy.linspace(a, b, n + 1):
        integral = integral + f(x)
    return integral * (b - a) / n


# h is the step size. n is the total number of trapezoids
h = (b - a) / n
# local_n is the number of trapezoids each process will calculate
local_n = n // size
local_a = a + rank * local_n * h
local_b = local_a + local_n * h

integral = numpy.zeros(1)
recv_buffer = numpy.zeros(1)
integral[0] = integrateRange(local_a, local_b, local_n)

if rank == 0:
    total = integral[0]
    for i in range(1, size):
        comm.Recv(recv_buffer, MPI.ANY_SOURCE)
        total += recv_buffer[0]
    print("With n =", n, "trapezoids, our estimate of the integral from", a, "to", b, "is %.8f" % total)
else:
    comm.Send(integral, dest=0)

# python objects around the ring
data = {"rank": rank, "values": [1.5, 2.5], "name": "ring"}
req = comm.isend(data, dest=(rank + 1) % size, tag=11)
got = comm.recv(source=(rank - 1) % size, tag=11)
req.wait()
print("rank", rank, "received", got)

# non-blocking exchange of arrays
send = numpy.arange(4, dtype="d") + 10 * rank
recv = numpy.empty(4, dtype="d")
requests = [comm.Isend([send, MPI.DOUBLE], (rank + 1) % size), comm.Irecv([recv, MPI.DOUBLE], (rank - 1) % size)]
MPI.Request.Waitall(requests)
print("rank", rank, "has", recv)
