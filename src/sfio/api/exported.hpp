// sfio/api/exported: includes the public headers and exports their functions from the shared library.
#pragma once

#pragma GCC visibility push(default)
#include "sfio.h"
#pragma GCC visibility pop
