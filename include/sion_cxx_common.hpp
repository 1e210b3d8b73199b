/* What all C++ classes of the SION interface have in common. */
#ifndef SION_CXX_COMMON_HPP
#define SION_CXX_COMMON_HPP

#include "sion_cxx_base.hpp"

#endif
