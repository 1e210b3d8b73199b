// multifile/generation/committed_file: a physical file that was opened under its temporary name, while a
// commit renames it or may do so later.
#pragma once

#include <memory>
#include <string>

#include "format/extension.hpp"
#include "storage/decorators/forwarding_file.hpp"

namespace sheaf::multifile {

// A file that is open for reading. When its name is needed again (File::reopen, File::descriptor), the file
// is looked up under its temporary and then its final name.
class CommittedFile final : public ForwardingFile {
 public:
  // `store` has opened `temporary` and must outlive the object. `identity` is that of the file's generation.
  CommittedFile(Store& store, std::shared_ptr<File> temporary, std::string final_name,
                const format::Identity& identity)
      : ForwardingFile(std::move(temporary)),
        store_(store),
        final_name_(std::move(final_name)),
        identity_(identity) {}

  void read_pieces(std::span<const Piece<std::byte>> pieces) override { inner().read_pieces(pieces); }
  int64_t revalidate_opened() override { return inner().revalidate_opened(); }
  FileTraits traits() override { return inner().traits(); }
  FileDescriptor descriptor(DescriptorKind kind) override;
  const std::string& path() const override { return final_name_; }

  void reopen() override;

 private:
  // Opens the file under its final name. Throws `io` (ESTALE) if a different file has that name.
  std::shared_ptr<File> open_renamed() const;

  Store& store_;
  const std::string final_name_;
  const format::Identity identity_;
  std::shared_ptr<File> replaced_;  // the file opened under the temporary name, if it is not in use any more
};

}  // namespace sheaf::multifile
