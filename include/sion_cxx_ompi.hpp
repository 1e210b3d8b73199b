/* There is no C++ class for hybrid programs; they use sion_ompi.h. */
