cp linked.c app.c
@SNIPPET@
mpirun -n 2 ./app
sheaf verify data.sion
