cp linked.c app.c
@SNIPPET@
sheaf verify data.sion
