// api/sfio/exported: the public headers, with the functions they declare made visible in the shared library.
#pragma once

#pragma GCC visibility push(default)
#include "sfio.h"
#pragma GCC visibility pop
