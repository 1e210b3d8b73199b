// api/sion/handles/exported: includes the public headers and exports their functions from the shared library.
#pragma once

#pragma GCC visibility push(default)
#include "sheaf.h"
#include "sion.h"
#include "sion_debug.h"
#include "sion_omp.h"
#pragma GCC visibility pop
