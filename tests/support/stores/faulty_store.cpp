// support/stores/faulty_store: the decorator's calls.
#include "support/stores/faulty_store.hpp"

#include <utility>

#include "base/error.hpp"
#include "support/stores/fault_ledger.hpp"

namespace sheaf {

namespace {

using Pieces = std::span<const Piece<const std::byte>>;

int64_t total_of(Pieces pieces) {
  int64_t sum = 0;
  for (const auto& piece : pieces) sum += std::ssize(piece.memory);
  return sum;
}

// Decorator of a File. Also counts accesses that bypass the cache of a simulated host.
class FaultyFile final : public File {
 public:
  FaultyFile(std::shared_ptr<File> inner, std::shared_ptr<FaultyStore::FaultLedger> ledger)
      : inner_(std::move(inner)), ledger_(std::move(ledger)) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    const auto length = static_cast<int64_t>(data.size());
    if (const int error = ledger_->enter(StoreOperation::write, path(), offset, length)) {
      if (ledger_->half_first()) inner_->write_at(data.first(data.size() / 2), offset);
      throw injected_error(StoreOperation::write, path(), error);
    }
    inner_->write_at(data, offset);
    ledger_->add_written(length);
  }

  void write_pieces(Pieces pieces) override {
    while (!pieces.empty()) {
      size_t run = 1;
      while (run < pieces.size() && pieces[run].offset == pieces[run - 1].end()) ++run;
      write_run(pieces.first(run));
      pieces = pieces.subspan(run);
    }
  }

  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    if (const int error =
            ledger_->enter(StoreOperation::read, path(), offset, static_cast<int64_t>(data.size()))) {
      if (ledger_->ends_early()) return inner_->read_at(data.first(data.size() / 2), offset);
      if (ledger_->half_first()) inner_->read_at(data.first(data.size() / 2), offset);
      throw injected_error(StoreOperation::read, path(), error);
    }
    const size_t got = inner_->read_at(data, offset);
    ledger_->add_read(static_cast<int64_t>(got));
    return got;
  }

  FileStatus status() override {
    ledger_->require(StoreOperation::status, path());
    return inner_->status();
  }

  void resize(int64_t size) override {
    ledger_->require(StoreOperation::resize, path(), size);
    inner_->resize(size);
  }

  RangeLock lock_range(const LockRequest& wanted) override { return inner_->lock_range(wanted); }
  void revalidate() override { inner_->revalidate(); }

  void sync() override {
    ledger_->require(StoreOperation::sync, path());
    inner_->sync();
  }

  bool write_directly(std::span<const std::byte> data, int64_t offset) override {
    const auto length = static_cast<int64_t>(data.size());
    if (const int error = ledger_->enter(StoreOperation::write, path(), offset, length)) {
      if (ledger_->half_first()) inner_->write_directly(data.first(data.size() / 2), offset);
      throw injected_error(StoreOperation::write, path(), error);
    }
    return inner_->write_directly(data, offset);
  }
  size_t read_directly(std::span<std::byte> data, int64_t offset) override {
    ledger_->require(StoreOperation::read, path(), offset, static_cast<int64_t>(data.size()));
    return inner_->read_directly(data, offset);
  }
  void publish() override {
    ledger_->require(StoreOperation::sync, path());
    inner_->publish();
  }
  int64_t revalidate_opened() override {
    ledger_->require(StoreOperation::status, path());
    return inner_->revalidate_opened();
  }
  void know(FileSystem kind) override { inner_->know(kind); }

  int64_t next(Space space, int64_t offset) override {
    ledger_->require(StoreOperation::next, path(), offset);
    return inner_->next(space, offset);
  }

  FileDescriptor descriptor(DescriptorKind kind) override {
    if (kind == DescriptorKind::file) return {};
    ledger_->require(StoreOperation::open, path());
    return inner_->descriptor(kind);
  }

  const std::string& path() const override { return inner_->path(); }

  void close() override {
    const int error = ledger_->enter(StoreOperation::close, path());
    inner_->close();
    if (error != 0) throw injected_error(StoreOperation::close, path(), error);
  }

 private:
  // Writes adjacent pieces: each begins where the previous one ends.
  void write_run(Pieces pieces) {
    const int64_t length = total_of(pieces);
    if (const int error = ledger_->enter(StoreOperation::write, path(), pieces.front().offset, length)) {
      if (ledger_->half_first()) write_first(pieces, length / 2);
      throw injected_error(StoreOperation::write, path(), error);
    }
    inner_->write_pieces(pieces);
    ledger_->add_written(length);
  }

  void write_first(Pieces pieces, int64_t bytes) {
    for (auto piece = pieces.begin(); piece != pieces.end() && bytes > 0; ++piece) {
      const auto part = piece->memory.first(std::min(static_cast<size_t>(bytes), piece->memory.size()));
      inner_->write_at(part, piece->offset);
      bytes -= std::ssize(part);
    }
  }

  const std::shared_ptr<File> inner_;
  const std::shared_ptr<FaultyStore::FaultLedger> ledger_;
};

}  // namespace

FaultyStore::FaultyStore(Store& inner, FaultPlan plan)
    : ForwardingStore(inner), ledger_(std::make_shared<FaultLedger>()) {
  set_plan(std::move(plan));
}

FaultyStore::~FaultyStore() = default;

std::shared_ptr<File> FaultyStore::open(const std::string& path, Access access) {
  const bool creates = access == Access::fresh || (access == Access::create && !inner().status(path).exists);
  if (const int error = ledger_->enter_open(path, creates))
    throw injected_error(StoreOperation::open, path, error);
  return std::make_shared<FaultyFile>(inner().open(path, access), ledger_);
}

FileStatus FaultyStore::status(const std::string& path) {
  ledger_->require(StoreOperation::status, path);
  return inner().status(path);
}

std::vector<std::string> FaultyStore::names_in(const std::string& directory) {
  ledger_->require(StoreOperation::open, directory);
  return inner().names_in(directory);
}

void FaultyStore::remove(const std::string& path) {
  ledger_->require(StoreOperation::remove, path);
  inner().remove(path);
}

void FaultyStore::rename(const std::string& from, const std::string& to) {
  ledger_->require(StoreOperation::rename, from);
  inner().rename(from, to);
}

}  // namespace sheaf
