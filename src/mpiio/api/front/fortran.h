/* mpiio/api/front/fortran: Fortran calls that complete requests. */
#ifndef SHEAF_FORTRAN_H
#define SHEAF_FORTRAN_H

/* Makes `engine` handle errors of requests on files in Fortran calls from now on. */
void use_engine_for_fortran(void* engine);

#endif
