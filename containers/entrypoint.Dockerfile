# Any image with a Python and an MPI, and mpiimport inside: its ENTRYPOINT accelerates what the container runs.
#     docker build -t numpy-scipy-served -f entrypoint.Dockerfile --build-arg BASE=numpy-scipy PREFIX
# PREFIX is where `make install` has laid out mpiimport.
ARG BASE=numpy-scipy
FROM ${BASE}
ARG PROFILE=mpich

COPY bin /opt/mpiimport/bin
COPY lib /opt/mpiimport/lib
COPY mpi4py /opt/mpiimport/mpi4py
COPY profiles /opt/mpiimport/profiles

# MPIIMPORT=0 turns it off when the container is started.
ENV MPIIMPORT=1 MPIIMPORT_PROFILE=${PROFILE}
ENTRYPOINT ["/opt/mpiimport/bin/mpiimport-entry"]
CMD ["python3"]
