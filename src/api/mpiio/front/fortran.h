/* api/mpiio/front/fortran: the calls of Fortran that complete requests. */
#ifndef SHEAF_FORTRAN_H
#define SHEAF_FORTRAN_H

/* From now on errors of requests on files are those of this engine. */
void use_engine_for_fortran(void* engine);

#endif
