# An application that brings its own MPI and runs all its ranks in one container on one node; many such containers fill
# an allocation. Its base is an image made by entrypoint.Dockerfile.
#     docker build -t heat -f single-node-mpi.Dockerfile --build-arg BASE=numpy-scipy-served .
#     docker run --rm --tmpfs /dev/shm:exec,size=4g heat
ARG BASE=numpy-scipy-served
FROM ${BASE}
COPY heat.py /opt/heat/heat.py
CMD ["mpiexec", "-n", "4", "python3", "/opt/heat/heat.py"]
