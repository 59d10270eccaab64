# Any image with a Python and an MPI, and mpiimport inside: its ENTRYPOINT accelerates what the container runs.
#     docker build -t numpy-scipy-served -f entrypoint.Dockerfile --build-arg BASE=numpy-scipy PREFIX
# PREFIX is where `make install` has laid out mpiimport.
ARG BASE=numpy-scipy
FROM ${BASE}
ARG PROFILE=mpich

COPY bin /.mpiimport/bin
COPY lib /.mpiimport/lib
COPY mpi4py /.mpiimport/mpi4py
COPY profiles /.mpiimport/profiles

# MPIIMPORT=0 turns it off when the container is started.
ENV MPIIMPORT=1 MPIIMPORT_PROFILE=${PROFILE}
ENTRYPOINT ["/.mpiimport/bin/mpiimport-entry"]
CMD ["python3"]
