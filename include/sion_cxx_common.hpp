/* Common part of all C++ classes of the SION interface. */
#ifndef SION_CXX_COMMON_HPP
#define SION_CXX_COMMON_HPP

#include "sion_cxx_base.hpp"

#endif
