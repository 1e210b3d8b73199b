/* There is no C++ class for OpenMP programs; they use sion_omp.h. */
