// mode/checking: whether checksums are compared with what is read (docs/format.md, section 14).
#pragma once

namespace sheaf {

// Off: damaged files can be read as far as they go.
enum class Checking : bool { off, on };

}  // namespace sheaf
