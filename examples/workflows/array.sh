#!/bin/bash
# Slurm: an array of jobs of 2 ranks in an image.
#
# sbatch --wait --array=1-3 array.sh IMAGE
#SBATCH --ntasks=2
#SBATCH --output=%a.out
#SBATCH --error=%a.err
#SBATCH --requeue
srun --mpi=pmi2 mpiimport exec --profile mpich "$1" python3 simulation.py "${SLURM_ARRAY_TASK_ID}000"
