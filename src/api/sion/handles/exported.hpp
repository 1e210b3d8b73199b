// api/sion/handles/exported: the public headers, with the functions they declare made visible in the shared
// library.
#pragma once

#pragma GCC visibility push(default)
#include "sheaf.h"
#include "sion.h"
#include "sion_debug.h"
#include "sion_omp.h"
#pragma GCC visibility pop
