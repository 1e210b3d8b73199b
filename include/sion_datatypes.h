/* Integer types of the SION interface. They are macros so that %lld matches the 64-bit types. */
#ifndef SION_DATATYPES_H
#define SION_DATATYPES_H

#include "sion_libversion_rep.h"
#include "sion_platform.h"

#define sion_int32 int
#define sion_uint32 unsigned int
#define sion_int64 long long
#define sion_uint64 unsigned long long

#endif
