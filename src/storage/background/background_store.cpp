#include "storage/background/background_store.hpp"

#include <algorithm>
#include <map>

#include "storage/decorators/forwarding_file.hpp"

namespace sheaf {

namespace {

class BackgroundFile final : public ForwardingFile {
 public:
  BackgroundFile(std::shared_ptr<File> file, BackgroundWriter& writer, std::shared_ptr<WriteBatch> batch)
      : ForwardingFile(file), file_(std::move(file)), writer_(writer), batch_(std::move(batch)) {}
  ~BackgroundFile() override {
    if (is_closed_) return;
    // Its bytes are synced in any case.
    if (const auto lost = attempt([&] { batch_->close_later(file_); })) batch_->fail(*lost);
  }

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    writer_.write({batch_, file_, current_sums_}, data, offset);
    if (!data.empty()) end_ = std::max(end_, offset + std::ssize(data));
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    writer_.await_range(*batch_, path(), offset, std::ssize(data));
    const size_t got = inner().read_at(data, offset);
    // Bytes that are captured behind a hole.
    if (got == data.size() || offset + static_cast<int64_t>(got) >= end_) return got;
    const auto hole = data.subspan(got).first(
        static_cast<size_t>(std::min(std::ssize(data), end_ - offset) - static_cast<int64_t>(got)));
    std::ranges::fill(hole, std::byte{});
    return got + hole.size();
  }
  FileStatus status() override {
    batch_->require_sound();
    FileStatus status = inner().status();
    status.size = std::max(status.size, end_);
    return status;
  }
  void resize(int64_t size) override {
    drained().resize(size);
    end_ = 0;
  }
  void sync() override { drained().sync(); }
  void publish() override { drained().publish(); }
  void revalidate() override { drained().revalidate(); }
  int64_t revalidate_opened() override { return drained().revalidate_opened(); }
  int64_t next(Space space, int64_t offset) override { return drained().next(space, offset); }
  bool evict() override { return false; }
  FileTraits traits() override {
    FileTraits traits = inner().traits();
    traits.evictable = false;
    traits.computes_sums = true;
    return traits;
  }
  bool begin_sums(int64_t origin, uint32_t piece) override {
    const auto unmade =
        attempt([&] { current_sums_ = &sums_.try_emplace(origin, origin, piece).first->second; });
    return !unmade;
  }
  bool take_sums(int64_t origin, int64_t bytes, std::span<uint32_t> result) override {
    if (batch_->discards()) {
      std::ranges::fill(result, 0u);
      return true;
    }
    const auto found = sums_.find(origin);
    return found != sums_.end() && found->second.copy(bytes, result);
  }
  FileDescriptor descriptor(DescriptorKind kind) override {
    if (kind == DescriptorKind::file) return {};
    throw Error(Code::unsupported, "'" + path() + "' is written in the background: it has no descriptor");
  }
  File& file_below() const { return *file_; }
  void close() override {
    if (!is_closed_) batch_->close_later(file_);
    is_closed_ = true;
    batch_->require_sound();
  }

 private:
  File& drained() {
    writer_.drain(*batch_);
    return inner();
  }

  const std::shared_ptr<File> file_;
  BackgroundWriter& writer_;
  const std::shared_ptr<WriteBatch> batch_;
  int64_t end_ = 0;                       // of the captured bytes
  std::map<int64_t, CapturedSums> sums_;  // by origin
  CapturedSums* current_sums_ = nullptr;  // of the bytes that are written now; null: none
  bool is_closed_ = false;
};

}  // namespace

FileSystemTraits BackgroundStore::traits_of(File& file) {
  auto* const background = dynamic_cast<BackgroundFile*>(&file);
  return inner_->traits_of(background ? background->file_below() : file);
}

std::shared_ptr<File> BackgroundStore::open(const std::string& path, Access access) {
  auto file = ForwardingStore::open(path, access);
  if (access == Access::read) return file;
  return std::make_shared<BackgroundFile>(std::move(file), writer_, batch_);
}

}  // namespace sheaf
