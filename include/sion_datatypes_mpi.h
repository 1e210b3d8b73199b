/* MPI types of the SION integers. */
#ifndef SION_DATATYPES_MPI_H
#define SION_DATATYPES_MPI_H

#define SION_MPI_INT32 MPI_INT
#define SION_MPI_INT64 MPI_LONG_LONG

#endif
