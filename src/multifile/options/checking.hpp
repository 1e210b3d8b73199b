// multifile/options/checking: states whether reads verify checksums (docs/format.md, section 14).
#pragma once

namespace sheaf::multifile {

// off: reads return damaged data without an error.
enum class Checking : bool { off, on };

}  // namespace sheaf::multifile
