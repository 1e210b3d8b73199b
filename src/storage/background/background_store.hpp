// storage/background/background_store: a Store whose files are written in the background
// (storage/background/background_writer).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "storage/background/background_writer.hpp"
#include "storage/decorators/forwarding_store.hpp"

namespace sheaf {

// Writes to files that are opened through this store belong to one WriteBatch. A File sees its own writes: a
// read, a new size and a sync first wait for the writes of the batch. Its size includes captured bytes. Each
// call throws the failure of the batch. close() returns at once; WriteBatch::sync_files() closes the file.
// Such files have no descriptors (unsupported), because a descriptor would bypass captured bytes.
//
// Files opened for reading are those of the inner store, which do not have captured bytes. Names are created,
// renamed and removed at once.
class SHEAF_EXPORT BackgroundStore final : public ForwardingStore {
 public:
  // `writer` must outlive the batch, and `inner` this object and its files.
  BackgroundStore(std::shared_ptr<Store> inner, BackgroundWriter& writer, std::shared_ptr<WriteBatch> batch)
      : ForwardingStore(*inner), inner_(std::move(inner)), writer_(writer), batch_(std::move(batch)) {}
  // Gives the batch up unless keep() was called, and waits until no request uses its files any more.
  ~BackgroundStore() override {
    if (is_kept_) return;
    batch_->give_up();
    attempt([&] { writer_.drain(*batch_); });
  }

  // Lets the writes continue after the end of this object.
  void keep() { is_kept_ = true; }

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileSystemTraits traits_of(File& file) override;

  const std::shared_ptr<WriteBatch>& batch() const { return batch_; }
  BackgroundWriter& writer() const { return writer_; }
  const std::shared_ptr<Store>& store_below() const { return inner_; }

 private:
  const std::shared_ptr<Store> inner_;
  BackgroundWriter& writer_;
  const std::shared_ptr<WriteBatch> batch_;
  bool is_kept_ = false;
};

}  // namespace sheaf
