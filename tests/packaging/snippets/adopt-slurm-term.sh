mpicc $(sionconfig --cflags --mpi) endless.c -o endless $(sionconfig --libs --mpi)
export SLURM_TIMELIMIT=2    # minutes
set +e    # a terminated program has a nonzero status
@SNIPPET@
set -e
sheaf verify data.sion
test "$(sheaf cat data.sion | wc -c)" -gt 1000
