#include "multifile/generation/committed_file.hpp"

#include <cerrno>

#include "base/error.hpp"
#include "multifile/generation/generation.hpp"

namespace sheaf {

FileTraits CommittedFile::traits() {
  FileTraits traits = current().traits();
  if (traits.resting) traits.resting = this;
  return traits;
}

std::shared_ptr<File> CommittedFile::open_renamed() const {
  auto file = store_.open(final_name_, Access::read);
  if (read_identity(*file) == identity_) return file;
  throw Error(Code::io,
              "'" + final_name_ +
                  "': another generation has got this name since it was opened; open the multifile again",
              ESTALE);
}

FileDescriptor CommittedFile::descriptor(DescriptorKind whose) {
  try {
    return current().descriptor(whose);
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
  }
  return open_renamed()->descriptor(whose);
}

bool CommittedFile::rest() {
  EvictableFile* const resting = current().traits().resting;
  return resting && resting->rest();
}

void CommittedFile::wake() {
  try {
    return current().traits().resting->wake();
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
  }
  renamed_ = open_renamed();
}

}  // namespace sheaf
