#include "multifile/generation/committed_file.hpp"

#include <cerrno>

#include "base/error.hpp"
#include "multifile/generation/generation.hpp"

namespace sheaf::multifile {

std::shared_ptr<File> CommittedFile::open_renamed() const {
  auto file = store_.open(final_name_, Access::read);
  if (read_identity(*file) == identity_) return file;
  throw Error(Code::io,
              "'" + final_name_ +
                  "': another generation has got this name since it was opened; open the multifile again",
              ESTALE);
}

FileDescriptor CommittedFile::descriptor(DescriptorKind kind) {
  try {
    return inner().descriptor(kind);
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
  }
  return open_renamed()->descriptor(kind);
}

void CommittedFile::reopen() {
  try {
    return inner().reopen();
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
  }
  replaced_ = replace_inner(open_renamed());
}

}  // namespace sheaf::multifile
