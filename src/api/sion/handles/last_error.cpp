// Implements calls of sheaf.h that do not use a handle: the last error, the printing of errors, and the
// version.
#include "api/sion/handles/exported.hpp"
#include "base/report/report.hpp"

const char* sheaf_last_error(void) { return sheaf::last_error_text(); }

int sheaf_print_errors(int on) { return sheaf::print_errors(on != 0); }

const char* sheaf_version(void) { return SHEAF_VERSION_STRING; }
